package datasets

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // hours of the day must not depend on the machine's zones
)

// Keys of the file metadata; see SCHEMA.md.
const (
	keyVersion   = "yardmaster.schema_version"
	keyTable     = "yardmaster.table"
	keySource    = "yardmaster.source"
	keyLicence   = "yardmaster.licence"
	keySHA256    = "yardmaster.source_sha256"
	keyEpoch     = "yardmaster.epoch"
	keyZone      = "yardmaster.zone"
	keyFilters   = "yardmaster.filters"
	keyRowsIn    = "yardmaster.rows_in"
	keyRowsOut   = "yardmaster.rows_out"
	keyGenerator = "yardmaster.generator"
	keySeed      = "yardmaster.seed"
)

const tableJobs = "jobs"

// encode returns the file metadata of a table with this many rows.
func (m *Meta) encode(rows int) (map[string]string, error) {
	kv := map[string]string{
		keyVersion: strconv.Itoa(SchemaVersion),
		keyTable:   tableJobs,
		keyRowsIn:  strconv.FormatInt(m.RowsIn, 10),
		keyRowsOut: strconv.Itoa(rows),
	}
	for key, value := range map[string]string{
		keySource: m.Source, keyLicence: m.Licence, keySHA256: m.SourceSHA256, keyZone: m.Zone, keyGenerator: m.Generator,
	} {
		if value != "" {
			kv[key] = value
		}
	}
	if !m.Epoch.IsZero() {
		kv[keyEpoch] = m.Epoch.Format(time.RFC3339Nano)
	}
	if m.Generator != "" {
		kv[keySeed] = strconv.FormatUint(m.Seed, 10)
	}
	if len(m.Filters) > 0 {
		text, err := json.Marshal(m.Filters)
		if err != nil {
			return nil, fmt.Errorf("datasets: encode filters: %w", err)
		}
		kv[keyFilters] = string(text)
	}
	return kv, nil
}

// decodeMeta reads the file metadata. A missing version is an error: nothing
// else tells the units of a table.
func decodeMeta(lookup func(string) (string, bool)) (Meta, *RowError) {
	d := metaDecoder{lookup: lookup}
	version, ok := lookup(keyVersion)
	if !ok {
		return Meta{}, metaError(keyVersion, "missing", `make the file with "yardmaster trace import", or set the key to 1 if the columns follow datasets/SCHEMA.md`)
	}
	n, err := strconv.Atoi(version)
	if err != nil || n < 1 {
		return Meta{}, metaError(keyVersion, Excerpt(version), "want a whole number from 1")
	}
	if n > SchemaVersion {
		return Meta{}, metaError(keyVersion, version, fmt.Sprintf("this yardmaster reads versions up to %d: use a newer one", SchemaVersion))
	}
	if table, ok := lookup(keyTable); ok && table != tableJobs {
		return Meta{}, metaError(keyTable, Excerpt(table), "want a jobs table")
	}
	m := Meta{
		SchemaVersion: n,
		Source:        d.text(keySource), Licence: d.text(keyLicence), SourceSHA256: d.text(keySHA256),
		Zone: d.text(keyZone), Generator: d.text(keyGenerator),
	}
	d.parse(keyRowsIn, "want a whole number", func(s string) (err error) { m.RowsIn, err = strconv.ParseInt(s, 10, 64); return })
	d.parse(keySeed, "want a whole number", func(s string) (err error) { m.Seed, err = strconv.ParseUint(s, 10, 64); return })
	d.parse(keyEpoch, "want a time as in RFC 3339", func(s string) (err error) { m.Epoch, err = time.Parse(time.RFC3339Nano, s); return })
	d.parse(keyFilters, "want a JSON list of strings", func(s string) error { return json.Unmarshal([]byte(s), &m.Filters) })
	return m, d.err
}

// location returns the zone in which the table's hours of the day are counted:
// the one that Zone names first, if there is such a zone, else that of Epoch,
// which is a fixed offset.
func (m *Meta) location() *time.Location {
	name, _, _ := strings.Cut(m.Zone, " ")
	if name == "" || name == "Local" {
		return m.Epoch.Location()
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return m.Epoch.Location()
	}
	return zone
}

// metaDecoder keeps the first error of a series of look-ups.
type metaDecoder struct {
	lookup func(string) (string, bool)
	err    *RowError
}

func (d *metaDecoder) text(key string) string {
	value, _ := d.lookup(key)
	return value
}

func (d *metaDecoder) parse(key, want string, parse func(string) error) {
	value, ok := d.lookup(key)
	if !ok || d.err != nil {
		return
	}
	if err := parse(value); err != nil {
		d.err = metaError(key, Excerpt(value), want)
	}
}

func metaError(key, value, fix string) *RowError {
	return &RowError{Value: "file metadata " + key + " is " + value, Fix: fix}
}
