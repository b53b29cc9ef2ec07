package datasets

import (
	"fmt"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
)

// fixUnit is what to do about a column that [otherUnit] finds.
const fixUnit = "write plain whole numbers in the unit that SCHEMA.md gives"

// otherUnit returns the annotation of a column of whole numbers that count something else
// than its name says, "" where there is none. A data frame's times are often milliseconds
// or microseconds in a file, which would be read as nanoseconds without a word.
func otherUnit(e *format.SchemaElement) string {
	switch x := e.LogicalType.Value.(type) {
	case *format.TimestampType:
		return unlessNanos(&x.Unit, x)
	case *format.TimeType:
		return unlessNanos(&x.Unit, x)
	case *format.DecimalType:
		if x.Scale != 0 {
			return x.String()
		}
		return ""
	}
	if !e.ConvertedType.Valid {
		return ""
	}
	if e.ConvertedType.V == deprecated.Decimal && e.Scale.V != 0 {
		return fmt.Sprintf("DECIMAL(%d,%d)", e.Precision.V, e.Scale.V)
	}
	return convertedUnits[e.ConvertedType.V]
}

// convertedUnits are the annotations of writers that know no others.
var convertedUnits = map[deprecated.ConvertedType]string{
	deprecated.TimeMillis: "TIME_MILLIS", deprecated.TimeMicros: "TIME_MICROS",
	deprecated.TimestampMillis: "TIMESTAMP_MILLIS", deprecated.TimestampMicros: "TIMESTAMP_MICROS",
}

func unlessNanos(unit *format.TimeUnit, annotation fmt.Stringer) string {
	if _, ok := unit.Value.(*format.NanoSeconds); ok {
		return ""
	}
	return annotation.String()
}
