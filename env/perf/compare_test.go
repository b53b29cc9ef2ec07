package perf

import (
	"testing"
)

func TestCompareSketch(t *testing.T) {
	p, _ := New(Config{})
	rows := gavelRows(readTable(t), "gavel-phys")
	rows = append(rows, gavelRows(readTable(t), "gavel-sim")...)
	c, err := p.Compare(rows)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range c {
		t.Logf("%+v", c)
	}
	for i := range rows {
		rows[i].Source += "/" + rows[i].Model
	}
	c, err = p.Compare(rows)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range c {
		t.Logf("%+v", c)
	}
}
