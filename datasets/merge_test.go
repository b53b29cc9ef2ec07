package datasets

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestMergeAlignsEpochsAndNumbersJobs(t *testing.T) {
	epoch := time.Date(2020, 4, 1, 0, 0, 0, 0, time.UTC)
	a := &Jobs{Name: "a", Meta: Meta{Source: "A", Licence: "MIT", SourceSHA256: "aa", Epoch: epoch.Add(time.Hour), Zone: "UTC", RowsIn: 5, Filters: []string{"dropped"}}, Rows: []Row{
		{ID: 7, GPUs: 1, Duration: 1, Tenant: "x", Deadline: time.Minute},
		{ID: 9, Submit: time.Hour, GPUs: 2, Duration: 1},
	}}
	b := &Jobs{Name: "b", Meta: Meta{Source: "B", Licence: "MIT", SourceSHA256: "bb", Epoch: epoch, Zone: "UTC", RowsIn: 2, Generator: "gen", Seed: 3}, Rows: []Row{
		{ID: 7, Submit: 30 * time.Minute, GPUs: 4, Duration: 1},
		{ID: 8, Submit: time.Hour, GPUs: 8, Duration: 1, Tenant: "x"},
	}}
	got, err := Merge(MergeConfig{}, a, b)
	if err != nil {
		t.Fatal(err)
	}
	want := &Jobs{
		Name: "merged",
		Meta: Meta{
			SchemaVersion: SchemaVersion, Source: "A; B", Licence: "MIT", Epoch: epoch, Zone: "UTC", RowsIn: 7, Generator: "gen",
			Filters: []string{"a: 2 rows, source SHA-256 aa, zone UTC", "a: dropped", "b: 2 rows, source SHA-256 bb, seed 3, zone UTC", "merged 2 tables, ids numbered anew"},
		},
		Rows: []Row{
			{ID: 1, Submit: 30 * time.Minute, GPUs: 4, Duration: 1},
			{ID: 2, Submit: time.Hour, GPUs: 1, Duration: 1, Tenant: "x", Deadline: time.Hour + time.Minute},
			{ID: 3, Submit: time.Hour, GPUs: 8, Duration: 1, Tenant: "x"},
			{ID: 4, Submit: 2 * time.Hour, GPUs: 2, Duration: 1},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if a.Rows[0].Submit != 0 || a.Rows[0].ID != 7 {
		t.Error("Merge changed its tables")
	}
}

func TestMergeFromOneStart(t *testing.T) {
	a, b := sliceable(), sliceable()
	b.Name, b.Meta.Epoch = "b", time.Time{} // has no calendar
	b.Rows = b.Rows[1:]
	if _, err := Merge(MergeConfig{}, a, b); err == nil || !strings.Contains(err.Error(), "b: has no epoch, but t has one: say that all begin at once") {
		t.Errorf("got error %v", err)
	}
	got, err := Merge(MergeConfig{AlignStart: true, PrefixTenants: true}, a, b)
	if err != nil {
		t.Fatal(err)
	}
	if got.Rows[0].Submit != time.Hour || got.Rows[1].Submit != time.Hour || got.Rows[1].Deadline != 4*time.Hour || !got.Meta.Epoch.Equal(a.Meta.Epoch) {
		t.Errorf("got epoch %v, rows %+v", got.Meta.Epoch, got.Rows[:2])
	}
	var tenants []string
	for _, r := range got.Rows {
		tenants = append(tenants, r.Tenant)
	}
	if diff := cmp.Diff([]string{"t/a", "b/b", "t/b", "b/a", "t/a", "b", "t"}, tenants); diff != "" {
		t.Errorf("tenants (-want +got):\n%s", diff)
	}
}

func TestMergeRefuses(t *testing.T) {
	if _, err := Merge(MergeConfig{}); err == nil {
		t.Error("a merge of nothing was no error")
	}
	bad := sliceable()
	bad.Rows[0].GPUs = 0
	if _, err := Merge(MergeConfig{}, sliceable(), bad); err == nil {
		t.Error("a bad table was merged")
	}
	far := sliceable()
	far.Meta.Epoch = far.Meta.Epoch.AddDate(150, 0, 0)
	if _, err := Merge(MergeConfig{}, sliceable(), far); err == nil || !strings.Contains(err.Error(), "submit_ns") {
		t.Errorf("tables 150 years apart: got error %v", err)
	}
	long := sliceable()
	long.Name = strings.Repeat("x", MaxName)
	_, err := Merge(MergeConfig{PrefixTenants: true}, long)
	if e, ok := errors.AsType[*RowError](err); !ok || e.Column != "tenant" || e.Row != 1 {
		t.Errorf("a long name: got error %v", err)
	}
}

// The parts of a table merge to that table, but for the ids.
func TestMergeOfPartsIsTheTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := tables(30).Draw(t, "table")
		if len(j.Rows) < 2 {
			return
		}
		var parts [2]Jobs
		for i, r := range j.Rows {
			p := &parts[0]
			if i > 0 && (i == 1 || rapid.Bool().Draw(t, "second")) {
				p = &parts[1]
			}
			p.Rows = append(p.Rows, r)
		}
		got, err := Merge(MergeConfig{}, &parts[0], &parts[1])
		if err != nil {
			t.Fatal(err)
		}
		sameTimes := cmp.Comparer(func(a, b Row) bool { a.ID, b.ID = 0, 0; return a == b })
		if diff := cmp.Diff(j.Rows, got.Rows, sameTimes); diff != "" && distinctTimes(j) {
			t.Fatalf("(-want +got):\n%s", diff)
		}
		for i, r := range got.Rows {
			if r.ID != int64(i)+1 {
				t.Fatalf("row %d has id %d", i+1, r.ID)
			}
		}
	})
}

func distinctTimes(j *Jobs) bool {
	for i := range j.Rows[1:] {
		if j.Rows[i].Submit == j.Rows[i+1].Submit {
			return false
		}
	}
	return true
}
