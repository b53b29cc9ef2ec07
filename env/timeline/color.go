package timeline

import (
	"fmt"
	"math"
)

// colour returns the colour of job number i as #rrggbb: hues a golden angle
// apart, so that any few jobs in a row differ, in two shades, all light enough
// for black text and equally bright to the eye.
func colour(i int) string {
	const goldenAngle = 137.50776405003785 // degrees
	light := [...]float64{0.80, 0.71}
	return oklch(light[i%len(light)], 0.115, math.Mod(float64(i)*goldenAngle+25, 360))
}

// shade returns the colour of GPU type t of n: blues from dark to light.
func shade(t, n int) string {
	return oklch(0.48+0.36*float64(t)/float64(max(1, n-1)), 0.09, 245)
}

// oklch returns #rrggbb for a colour given by lightness (0 to 1), chroma and hue
// (degrees) in the OKLab space, with the matrices of B. Ottosson, "A perceptual
// color space for image processing", 2020. Components out of range are cut off.
func oklch(light, chroma, hue float64) string {
	h := hue * math.Pi / 180
	a, b := chroma*math.Cos(h), chroma*math.Sin(h)
	l := cube(light + 0.3963377774*a + 0.2158037573*b)
	m := cube(light - 0.1055613458*a - 0.0638541728*b)
	s := cube(light - 0.0894841775*a - 1.2914855480*b)
	return fmt.Sprintf("#%02x%02x%02x",
		channel(4.0767416621*l-3.3077115913*m+0.2309699292*s),
		channel(-1.2684380046*l+2.6097574011*m-0.3413193965*s),
		channel(-0.0041960863*l-0.7034186147*m+1.7076147010*s))
}

func cube(x float64) float64 { return x * x * x }

// channel returns a linear component as a byte of sRGB (IEC 61966-2-1).
func channel(x float64) uint8 {
	x = min(1, max(0, x))
	if x <= 0.0031308 {
		x *= 12.92
	} else {
		x = 1.055*math.Pow(x, 1/2.4) - 0.055
	}
	return uint8(math.Round(255 * x))
}
