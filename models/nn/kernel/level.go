package kernel

// Level is a set of instructions that kernels are written for.
type Level int

// Levels, the slowest first.
const (
	Plain  Level = iota // Go and gonum
	AVX2                // with FMA
	AVX512              // foundation instructions
)

var levelNames = [...]string{Plain: "plain", AVX2: "avx2", AVX512: "avx512"}

func (l Level) String() string { return levelNames[l] }

// level is what this processor runs best; only tests change it.
var level = best()

// Active returns the level in use: part of a benchmark's name.
func Active() Level { return level }
