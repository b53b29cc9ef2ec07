package gavel

import (
	"math"
	"math/big"
)

// arrivalsSeed is what the original adds to its seed for inter-arrival times.
const arrivalsSeed = 3

// Arrivals returns when the first n jobs arrive that the original generates in
// a run with this seed, where mean is the mean inter-arrival time (lam), s:
// the first at 0, then after exponential gaps.
//
// It gives every bit of the original's numbers, but for about one gap in a
// thousand that is off by one unit in the last place. Where schedules hang on
// ties, as AlloX's do, multiplying rounded arrival times does not replace it.
func Arrivals(seed uint64, mean float64, n int) []float64 {
	m := newMersenne(seed + arrivalsSeed)
	at := make([]float64, n)
	for i := 1; i < n; i++ {
		gap := -logarithm(1-m.float64()) / (1 / mean)
		at[i] = gap + at[i-1]
	}
	return at
}

// logarithm returns ln x for x in (0, 1], correctly rounded but for ties within
// 2⁻⁹⁰ of it. math.Log is off by one unit in the last place in one case of
// fourteen, the C library's, which the original uses, in one of a thousand.
func logarithm(x float64) float64 {
	if x == 1 {
		return 0
	}
	// With x = f·2^e and f near 1, ln x = e·ln 2 + 2·artanh((f-1)/(f+1)).
	f, e := math.Frexp(x)
	if f < math.Sqrt2/2 {
		f, e = 2*f, e-1
	}
	sum := real(0).Mul(real(float64(e)), &ln2)
	result, _ := sum.Add(sum, artanh(f)).Float64()
	return result
}

// artanh returns 2·artanh((f-1)/(f+1)) = 2·Σ z^(2i+1)/(2i+1), |z| < 0.172.
func artanh(f float64) *big.Float {
	z := real(0).Quo(real(f-1), real(0).Add(real(f), real(1))) // f-1 is exact
	square := real(0).Mul(z, z)
	power := real(0).Add(z, z)
	sum, term, divisor := real(0), real(0), real(0)
	for i := 1; power.MantExp(nil) > -precision; i += 2 {
		sum.Add(sum, term.Quo(power, divisor.SetInt64(int64(i))))
		if power.Mul(power, square); power.Sign() == 0 {
			break
		}
	}
	return sum
}

const precision = 112 // bits

// ln2 is the natural logarithm of 2 to 40 digits (OEIS A002162).
var ln2 = func() big.Float {
	x, _, err := big.ParseFloat("0.6931471805599453094172321214581765680755", 10, precision, big.ToNearestEven)
	if err != nil {
		panic(err) // a constant
	}
	return *x
}()

// real returns x with enough bits.
func real(x float64) *big.Float { return new(big.Float).SetPrec(precision).SetFloat64(x) }
