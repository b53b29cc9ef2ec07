//go:build unix

package helios

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
	"github.com/yardmaster/yardmaster/env/rng"
)

// Rows of the log that is generated: as many as Helios has (the total of
// helios_cluster_summary.csv), and few under -short.
const (
	logRows   = 3_362_981
	shortRows = 100_000
)

// benchmarkLog is a generated log and the jobs table made of it, in a folder of
// the whole run.
type benchmarkLog struct {
	rows, kept   int
	csv, parquet string // paths
}

var (
	makeLog  sync.Once
	madeLog  benchmarkLog
	errLog   error
	tempsDir string
)

func TestMain(m *testing.M) {
	code := m.Run()
	if tempsDir != "" {
		_ = os.RemoveAll(tempsDir) // the system empties it, too
	}
	os.Exit(code)
}

// theLog generates the log, once in a run.
func theLog(b *testing.B) benchmarkLog {
	b.Helper()
	makeLog.Do(func() {
		madeLog.rows = logRows
		if testing.Short() {
			madeLog.rows = shortRows
		}
		tempsDir, errLog = os.MkdirTemp("", "helios")
		if errLog == nil {
			errLog = madeLog.generate(tempsDir)
		}
	})
	if errLog != nil {
		b.Fatal(errLog)
	}
	return madeLog
}

func (l *benchmarkLog) generate(dir string) error {
	l.csv, l.parquet = filepath.Join(dir, "cluster_log.csv"), filepath.Join(dir, "jobs.parquet")
	f, err := os.Create(l.csv)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	writeLog(w, l.rows)
	if err := w.Flush(); err != nil {
		return err
	}
	l.kept, err = l.load()
	return err
}

// load imports the log into the Parquet file, as trace import does, and returns
// the number of jobs.
func (l *benchmarkLog) load() (int, error) {
	w, err := datasets.Create(l.parquet)
	if err != nil {
		return 0, err
	}
	table, n, err := l.read(w.Append)
	if err != nil {
		return 0, errors.Join(err, w.Abort())
	}
	return n, w.Close(table.Meta)
}

// read imports the log and hands the rows of the table on, in order.
func (l *benchmarkLog) read(take func([]datasets.Row) error) (*datasets.Jobs, int, error) {
	f, err := os.Open(l.csv)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	in := &importers.Into{Reader: f, Append: take}
	defer in.Close()
	table, report, err := Import(in, l.csv)
	return table, report.Kept, err
}

// writeLog writes a log of so many rows, sorted by submission, with Helios' mix:
// 53 % of rows without a GPU, log-normal run times, short queues.
func writeLog(w *bufio.Writer, rows int) {
	r := rng.New(1, "helios log")
	gpus := []int{1, 1, 1, 1, 1, 2, 2, 4, 8, 8, 16, 32}
	states := []string{"COMPLETED", "COMPLETED", "COMPLETED", "COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL"}
	_, _ = w.WriteString("job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n") // Flush reports errors
	at := time.Date(2020, 4, 1, 0, 0, 0, 0, time.UTC)
	var line []byte
	for i := range rows {
		at = at.Add(time.Duration(r.IntN(9)) * time.Second)
		n := 0
		if r.Float64() >= 0.53 {
			n = gpus[r.IntN(len(gpus))]
		}
		queue, duration := r.IntN(600), 1+int(60*(1+r.ExpFloat64()*r.ExpFloat64()*40))
		start := at.Add(time.Duration(queue) * time.Second)
		line = fmt.Appendf(line[:0], "%d,u%05d,vc%02d,%d,%d,%d,%s,", 1_000_000+i, r.IntN(300), r.IntN(25), n, 4+4*n, 1+n/9, states[r.IntN(len(states))])
		for _, t := range []time.Time{at, start, start.Add(time.Duration(duration) * time.Second)} {
			line = append(t.AppendFormat(line, time.DateTime), ',')
		}
		line = strconv.AppendInt(line, int64(duration), 10)
		line = append(strconv.AppendInt(append(line, ','), int64(queue), 10), '\n')
		_, _ = w.Write(line) // Flush reports errors
	}
}

// cpuTime returns the time that the process has spent on processors. Ratios are
// of that: it does not depend on what else the machine does.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// bareCSV reads a file with encoding/csv and does nothing else.
func bareCSV(path string) (time.Duration, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	start := cpuTime()
	r := csv.NewReader(f)
	r.ReuseRecord = true
	for {
		if _, err := r.Read(); errors.Is(err, io.EOF) {
			return cpuTime() - start, nil
		} else if err != nil {
			return 0, err
		}
	}
}

// BenchmarkImport imports the log: rows are the jobs, checked, sorted and handed
// on; parquet writes them to a file, too. Beside it, in the same run, encoding/csv
// reads the same file and does nothing with it: ×csv is how many times as long
// the import takes, wanted is at most 3 for the rows.
func BenchmarkImport(b *testing.B) {
	l := theLog(b)
	b.Run("rows", func(b *testing.B) {
		l.besideCSV(b, func() (int, error) {
			kept := 0
			_, _, err := l.read(func(rows []datasets.Row) error { kept += len(rows); return nil })
			return kept, err
		})
	})
	b.Run("parquet", func(b *testing.B) { l.besideCSV(b, l.load) })
}

// besideCSV measures load, which returns the number of jobs.
func (l *benchmarkLog) besideCSV(b *testing.B, load func() (int, error)) {
	info, err := os.Stat(l.csv)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(info.Size())
	b.ReportAllocs()
	var bare, imports time.Duration
	for b.Loop() {
		b.StopTimer()
		d, err := bareCSV(l.csv)
		if err != nil {
			b.Fatal(err)
		}
		bare += d
		b.StartTimer()
		start := cpuTime()
		if n, err := load(); err != nil || n != l.kept {
			b.Fatalf("got %d jobs (%v), want %d", n, err, l.kept)
		}
		imports += cpuTime() - start
	}
	b.ReportMetric(float64(l.rows*b.N)/b.Elapsed().Seconds(), "rows/s")
	b.ReportMetric(imports.Seconds()/bare.Seconds(), "×csv")
}

// BenchmarkScan scans the jobs of the log, every column, into rows. Beside it, in
// the same run, DuckDB and pyarrow, where they are installed, read the same file
// with one thread into columns of Arrow: of-duckdb and of-pyarrow are the parts
// of their rate that the scan reaches, wanted is half of DuckDB's.
func BenchmarkScan(b *testing.B) {
	l := theLog(b)
	b.ReportAllocs()
	start := cpuTime()
	for b.Loop() {
		s, err := datasets.Scan(l.parquet, datasets.ScanConfig{})
		if err != nil {
			b.Fatal(err)
		}
		rows := 0
		for batch, err := range s.All() {
			if err != nil {
				b.Fatal(err)
			}
			rows += len(batch)
		}
		if err := s.Close(); err != nil || rows != l.kept {
			b.Fatalf("got %d rows (%v), want %d", rows, err, l.kept)
		}
	}
	rate := float64(l.kept*b.N) / (cpuTime() - start).Seconds()
	b.ReportMetric(float64(l.kept*b.N)/b.Elapsed().Seconds(), "rows/s")
	for _, other := range others {
		seconds, err := other.read(l.parquet)
		if err != nil {
			b.Logf("no comparison with %s: %v", other.name, err)
			continue
		}
		b.ReportMetric(rate/(float64(l.kept)/seconds), "of-"+other.name)
	}
}

// others are programs that read Parquet, as scripts that print the seconds of
// processor time of the fastest of three reads.
var others = []otherReader{
	{"duckdb", `
import sys, time, duckdb
c = duckdb.connect()
c.execute("SET threads = 1")
best = 1e9
for _ in range(3):
    start = time.process_time()
    t = c.execute("SELECT * FROM read_parquet('" + sys.argv[1] + "')").to_arrow_table()
    best = min(best, time.process_time() - start)
print(best)
`},
	{"pyarrow", `
import sys, time, pyarrow, pyarrow.parquet
pyarrow.set_cpu_count(1)
best = 1e9
for _ in range(3):
    start = time.process_time()
    t = pyarrow.parquet.read_table(sys.argv[1], use_threads=False)
    best = min(best, time.process_time() - start)
print(best)
`},
}

type otherReader struct{ name, script string }

// read returns the seconds that it takes to read a file. It fails, saying why,
// where the program is not installed.
func (o *otherReader) read(path string) (float64, error) {
	python, err := exec.LookPath("python3")
	if err != nil {
		return 0, err
	}
	var out, problems bytes.Buffer
	c := exec.Command(python, "-W", "ignore", "-c", o.script, path)
	c.Stdout, c.Stderr = &out, &problems
	if err := c.Run(); err != nil {
		lines := strings.Split(strings.TrimSpace(problems.String()), "\n")
		return 0, fmt.Errorf("%w: %s", err, lines[len(lines)-1])
	}
	return strconv.ParseFloat(strings.TrimSpace(out.String()), 64)
}
