package helios

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

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
	return readQuotas(source)
}

func readQuotas(source *importers.Source) (*Quotas, error) {
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

// dropSame is why a size is left out.
const dropSame = "as many as on the day before"

// QuotasFormat describes the sizes of virtual clusters, cluster_gpu_number.csv:
// date, one column for each virtual cluster, total. What changes from day to day
// becomes rows of the quotas table: a tenant is a virtual cluster, an instant is
// midnight in [Zone], and the cluster is what the file is named after, as in
// Earth_gpu_number.csv. The epoch is the first day.
func QuotasFormat() importers.QuotasFormat {
	return importers.QuotasFormat{
		Name: "helios", About: "SenseTime Helios 2020: Earth_gpu_number.csv (date, sizes of virtual clusters, total)",
		Sniff: SniffQuotas, Import: ImportQuotas,
	}
}

// SniffQuotas reports whether a text begins like a table of sizes.
func SniffQuotas(head []byte) bool {
	line, _, _ := strings.Cut(strings.TrimPrefix(string(head), "\ufeff"), "\n")
	line = strings.TrimSpace(line)
	return strings.HasPrefix(line, "date,") && strings.HasSuffix(line, ",total")
}

// ImportQuotas reads the sizes of one cluster or several.
func ImportQuotas(inputs ...importers.Input) (*datasets.QuotaTable, importers.Report, error) {
	zone, err := time.LoadLocation(Zone)
	if err != nil {
		return nil, importers.Report{}, fmt.Errorf("helios: %w", err)
	}
	rows, seen := new(importers.Quotas), make(map[string]bool)
	err = rows.Each(inputs, func(s *importers.Source) error {
		_, file := importers.PathNames(s.Name)
		cluster := strings.TrimSuffix(file, "_gpu_number")
		if seen[cluster] || len(cluster) > datasets.MaxName || !utf8.ValidString(cluster) {
			return s.Error(0, "", "its name is "+datasets.Excerpt(cluster), "name it after the cluster, each once, as in Earth_gpu_number.csv")
		}
		seen[cluster] = true
		q, err := readQuotas(s)
		if err != nil {
			return err
		}
		return q.rows(cluster, zone, rows, s)
	})
	if err != nil {
		return nil, importers.Report{}, err
	}
	return rows.Finish(datasets.Meta{
		Source:  "SenseTime Helios, 2020 (Hu et al., SC 2021), sizes of virtual clusters",
		Licence: "CC-BY-4.0",
		Zone:    Zone + " (assumed: the trace has no zone)",
	}, zone)
}

// rows keeps the sizes that differ from those of the day before.
func (q *Quotas) rows(cluster string, zone *time.Location, to *importers.Quotas, s *importers.Source) error {
	for day, sizes := range q.Sizes {
		date, err := time.ParseInLocation(time.DateOnly, q.Days[day], zone)
		if err != nil || date.Unix() < 0 {
			return s.Error(0, "date", datasets.Excerpt(q.Days[day]), "want a day from 1970 on such as 2020-04-01")
		}
		for i, gpus := range sizes {
			if err := to.Begin(s, 0); err != nil {
				return err
			}
			if day > 0 && q.Sizes[day-1][i] == gpus {
				to.Drop(dropSame)
				continue
			}
			row := datasets.QuotaRow{
				Source: "helios", Cluster: cluster, Tenant: q.VirtualClusters[i], From: time.Duration(date.Unix()) * time.Second, GPUs: int32(gpus),
			}
			if err := to.Keep(s, 0, row); err != nil {
				return err
			}
		}
	}
	return nil
}
