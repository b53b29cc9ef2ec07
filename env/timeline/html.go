package timeline

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/env/metrics"
	"github.com/yardmaster/yardmaster/env/sim"
)

// HTML writes rec as a page that stands alone: the picture of [SVG], the facts,
// and a table of the jobs. Pointing at a block or at a row of the table brings
// out everything of its job. Names are escaped. It returns [ErrEmpty] if there
// is nothing to draw.
func HTML(w io.Writer, rec *sim.Recording, cfg Config) error {
	cfg.fillDefaults()
	l, err := newLayout(rec)
	if err != nil {
		return err
	}
	d := newDrawing(l, cfg)
	d.y = 16
	d.draw()
	var b strings.Builder
	fmt.Fprintf(&b, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>%s</title>\n<style>%s</style>\n</head>\n<body>\n", escape(cfg.Title), pageStyle)
	fmt.Fprintf(&b, "<h1>%s</h1>\n", escape(cfg.Title))
	if len(cfg.Facts) > 0 {
		b.WriteString("<dl>\n")
		for _, f := range cfg.Facts {
			fmt.Fprintf(&b, "<div><dt>%s</dt><dd>%s</dd></div>\n", escape(f.Name), escape(f.Value))
		}
		b.WriteString("</dl>\n")
	}
	b.WriteString(d.svg(false))
	d.table(&b)
	fmt.Fprintf(&b, "<script>%s</script>\n</body>\n</html>\n", pageScript)
	_, err = io.WriteString(w, b.String())
	return err
}

const pageStyle = `
body{margin:20px auto;max-width:1440px;padding:0 20px;font:14px/1.4 system-ui,-apple-system,"Segoe UI","DejaVu Sans",sans-serif;color:#1f2937;background:#fff}
h1{font-size:22px;font-weight:600;margin:0 0 12px}
dl{display:flex;flex-wrap:wrap;gap:10px;margin:0 0 14px}
dl div{border:1px solid #e5e7eb;border-radius:8px;padding:6px 14px}
dt{color:#6b7280;font-size:12px}
dd{margin:0;font-size:16px;font-weight:600;font-variant-numeric:tabular-nums}
svg{display:block;max-width:100%;height:auto}
.only .block{opacity:.13}
.only .block.on{opacity:1}
details{margin:16px 0}
summary{cursor:pointer;font-weight:600}
table{border-collapse:collapse;margin-top:8px;font-variant-numeric:tabular-nums}
th,td{padding:3px 12px;text-align:right;border-bottom:1px solid #f1f3f5;white-space:nowrap}
th{color:#6b7280;font-weight:500}
td:nth-child(3),th:nth-child(3){text-align:left}
tr.on td{background:#f1f3f5}
td i{display:inline-block;width:12px;height:12px;border-radius:3px;vertical-align:-1px}
`

// pageScript brings out a job: it marks everything that carries its number.
const pageScript = `
const svg = document.querySelector("svg"), marked = [];
function show(job) {
  for (const e of marked.splice(0)) e.classList.remove("on");
  svg.classList.toggle("only", job !== undefined);
  if (job === undefined) return;
  for (const e of document.querySelectorAll('[data-job="' + job + '"]')) { e.classList.add("on"); marked.push(e); }
}
document.addEventListener("mouseover", e => show(e.target.closest("[data-job]")?.dataset.job));
`

// table writes what became of every job.
func (d *drawing) table(b *strings.Builder) {
	fmt.Fprintf(b, "<details open>\n<summary>%d jobs</summary>\n<table>\n", len(d.rec.Jobs))
	b.WriteString("<tr><th></th><th>job</th><th>model</th><th>batch</th><th>GPUs</th><th>submitted</th><th>waited first</th><th>held GPUs for</th><th>restarts</th><th>finished</th><th>completion time</th></tr>\n")
	lives := d.lives()
	for i := range d.rec.Jobs {
		j, life := &d.rec.Jobs[i], &lives[i]
		fmt.Fprintf(b, `<tr data-job="%d"><td><i style="background:%s"></i></td><td>%d</td><td>%s</td><td>%d</td><td>%d</td><td>%s</td>`, j.ID, colour(i), j.ID, escape(j.Model), j.Batch, j.GPUs, span(j.Submit))
		if life.starts == 0 {
			b.WriteString("<td>never ran</td><td></td><td></td>")
		} else {
			fmt.Fprintf(b, "<td>%s</td><td>%s</td><td>%d</td>", span(life.first-j.Submit), span(life.held), life.starts-1)
		}
		if finish := d.finish[i]; finish > 0 {
			fmt.Fprintf(b, "<td>%s%s</td><td>%s</td></tr>\n", how(d.outcome[i]), span(finish), span(finish-j.Submit))
		} else {
			b.WriteString("<td>not yet</td><td></td></tr>\n")
		}
	}
	b.WriteString("</table>\n</details>\n")
}

// how says how a job left, if it did not do all its work.
func how(o metrics.Outcome) string {
	if o == metrics.Completed {
		return ""
	}
	return o.String() + " at "
}

// life sums up the holds of a job.
type life struct {
	starts      int
	first, held time.Duration
}

// lives returns the life of every job, shape [len(Jobs)].
func (d *drawing) lives() []life {
	out := make([]life, len(d.rec.Jobs))
	for i := range d.holds {
		h := &d.holds[i]
		l := &out[h.job]
		if l.starts == 0 {
			l.first = h.from
		}
		l.starts++
		l.held += h.to - h.from
	}
	return out
}
