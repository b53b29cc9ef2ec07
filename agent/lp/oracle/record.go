package oracle

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/yardmaster/yardmaster/agent/lp/simplex"
)

// Record is a program with the objective that another solver found.
type Record struct {
	Name      string           `json:"name"`   // formulation or policy
	Solver    string           `json:"solver"` // with its version
	Objective float64          `json:"objective"`
	Whole     bool             `json:"whole,omitempty"` // shares are whole numbers
	Problem   *simplex.Problem `json:"problem"`
}

// WriteRecords writes records as lines of JSON.
func WriteRecords(w io.Writer, records []Record) error {
	e := json.NewEncoder(w)
	for i := range records {
		if err := e.Encode(&records[i]); err != nil {
			return fmt.Errorf("oracle: record %d: %w", i, err)
		}
	}
	return nil
}

// ReadRecords reads what WriteRecords wrote.
func ReadRecords(r io.Reader) ([]Record, error) {
	var records []Record
	for d := json.NewDecoder(r); ; {
		var one Record
		switch err := d.Decode(&one); err {
		case nil:
			records = append(records, one)
		case io.EOF:
			return records, nil
		default:
			return nil, fmt.Errorf("oracle: record %d: %w", len(records), err)
		}
	}
}
