package helios

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
)

// maxDays bounds the rows of a table of quotas: a hundred years.
const maxDays = 36_525

// Quotas are the GPUs of each virtual cluster of a cluster, which change from
// day to day.
type Quotas struct {
	VirtualClusters []string // in the order of the file
	Days            []string // such as "2020-04-01", ascending
	Sizes           [][]int  // [day][virtual cluster] GPUs
}

// GPUs returns the size of a virtual cluster on the day of at, in at's zone. It
// is not known of other virtual clusters and on days that the table lacks.
func (q *Quotas) GPUs(vc string, at time.Time) (gpus int, known bool) {
	day, found := slices.BinarySearch(q.Days, at.Format(time.DateOnly))
	i := slices.Index(q.VirtualClusters, vc)
	if !found || i < 0 {
		return 0, false
	}
	return q.Sizes[day][i], true
}

// ReadQuotas reads cluster_gpu_number.csv: date, one column for each virtual
// cluster, total. It fails with a [*datasets.RowError] that names the line.
func ReadQuotas(r io.Reader, name string) (*Quotas, error) {
	source, err := importers.Open(r, name)
	if err != nil {
		return nil, err
	}
	defer source.Close()
	line, number, err := source.Next()
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = source.Error(0, "", "the file has no text", "want the columns date, those of the virtual clusters, total")
		}
		return nil, err
	}
	header, err := importers.Fields(line)
	last := len(header) - 1
	if err != nil || last < 2 || last > importers.MaxColumns || header[0] != "date" || header[last] != "total" {
		return nil, source.Error(number, "", datasets.Excerpt(line), "want the columns date, those of the virtual clusters, total")
	}
	q := &Quotas{VirtualClusters: header[1:last]}
	for {
		line, number, err := source.Next()
		if errors.Is(err, io.EOF) {
			return q, q.check(source)
		}
		if err != nil {
			return nil, err
		}
		if err := q.row(source, number, line, header); err != nil {
			return nil, err
		}
	}
}

func (q *Quotas) check(source *importers.Source) error {
	if len(q.Days) == 0 {
		return source.Error(0, "", "there is no day under the header", "name the file with the sizes of the virtual clusters")
	}
	return nil
}

// row adds a day.
func (q *Quotas) row(source *importers.Source, number int64, line string, header []string) error {
	fields, err := importers.Fields(line)
	if err != nil || len(fields) != len(header) {
		return source.Error(number, "", fmt.Sprintf("%d values in the row", len(fields)), fmt.Sprintf("want %d, one for each column", len(header)))
	}
	day := fields[0]
	if _, err := time.Parse(time.DateOnly, day); err != nil {
		return source.Error(number, "date", datasets.Excerpt(day), "want a day such as 2020-04-01")
	}
	if n := len(q.Days); n > 0 && day <= q.Days[n-1] || n >= maxDays {
		return source.Error(number, "date", datasets.Excerpt(day), "want ascending days, each once")
	}
	sizes, sum := make([]int, len(q.VirtualClusters)), 0
	for i, text := range fields[1:] {
		gpus, err := strconv.ParseUint(text, 10, 31)
		if err != nil || gpus > datasets.MaxGPUs {
			return source.Error(number, header[i+1], datasets.Excerpt(text), importers.GPUsFix)
		}
		if i < len(sizes) {
			sizes[i] = int(gpus)
			sum += int(gpus)
		} else if int(gpus) != sum {
			return source.Error(number, "total", text, fmt.Sprintf("the virtual clusters have %d GPUs: correct one of them", sum))
		}
	}
	q.Days, q.Sizes = append(q.Days, day), append(q.Sizes, sizes)
	return nil
}
