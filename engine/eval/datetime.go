package eval

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	star "go.starlark.net/syntax"

	"callgate/engine/label"
)

// Dates and times are objects whose n counts: a date its days from 0001-01-01, a datetime its microseconds from there and a
// time those of its day, both by the clock of their zone, which is their only element if they have one; a timedelta its microseconds, and a
// timezone those that its clocks are ahead of UTC, with its name if it has one. There is no clock: what time it is, a tool says.
var (
	dateClass     = addClass("datetime.date")
	datetimeClass = addClass("datetime.datetime")
	timeClass     = addClass("datetime.time")
	deltaClass    = addClass("datetime.timedelta")
	zoneClass     = addClass("datetime.timezone")
)

const (
	perSecond = 1_000_000
	perDay    = 86_400 * perSecond
	lastDay   = 3_652_058 // 9999-12-31
	maxDelta  = math.MaxInt64 / 2
)

var minYear = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)

// goTime returns the clock of a date, datetime or time.
func goTime(o *object) time.Time {
	if o.class == dateClass {
		return minYear.AddDate(0, 0, int(o.n))
	}
	day, us := floorDiv(o.n, perDay)
	return minYear.AddDate(0, 0, int(day)).Add(time.Duration(us) * time.Microsecond)
}

// daysOf returns the days from 0001-01-01 to a date.
func daysOf(year, month, day int) int64 {
	t := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	return floorSeconds(t.Unix() - minYear.Unix())
}

func floorSeconds(s int64) int64 {
	d, _ := floorDiv(s, 86_400)
	return d
}

// zone returns the zone of a datetime or time, or nil.
func (o *object) zone() *object {
	if o.class == zoneClass || len(o.items) == 0 {
		return nil
	}
	return o.items[0].object()
}

// instant returns what two datetimes, or times, are compared by.
func (o *object) instant() int64 {
	if z := o.zone(); z != nil {
		return o.n - z.n
	}
	return o.n
}

// datetimeModule makes the module datetime.
func datetimeModule() *module {
	m := &module{"datetime", map[string]val{"MINYEAR": intVal(1, label.BottomID), "MAXYEAR": intVal(9999, label.BottomID)}}
	is := func(cs ...*class) func(v val) bool {
		return func(v val) bool {
			c := ofClass(v)
			return c != nil && (c == cs[0] || c == cs[len(cs)-1])
		}
	}
	attrs := func(d *builtinDef) func(name, params string, run native) {
		d.attrs = &module{d.name, map[string]val{}}
		return func(name, params string, run native) {
			d.attrs.attrs[name] = builtinVal(&builtin{name: name, recv: unboundVal, def: def(d.name+"."+name, params, run)}, label.BottomID)
		}
	}
	noClock := func(name string) native {
		return func(t *thread, c *call) val {
			panic(t.errorf(t.pc, "no-clock", "%s: a program has no clock", c.def.name).hint("call the tool clock.now, if it is granted, and give what it returns to " + name))
		}
	}
	date := m.class("date", "year, month, day", func(t *thread, c *call) val {
		n := t.dateArgs(c, 0)
		return t.newObject(dateClass, n, t.shallow(c))
	}, is(dateClass, datetimeClass))
	add := attrs(date)
	add("today", "", noClock("date.fromisoformat"))
	add("fromisoformat", "date_string", func(t *thread, c *call) val {
		s := c.wantString(t, 0)
		n, rest, ok := isoDate(s)
		if !ok || rest != "" {
			panic(t.badISO(c, s))
		}
		return t.newObject(dateClass, n, t.shallow(c))
	})
	add("fromordinal", "n", func(t *thread, c *call) val {
		n := t.intArg(c, 0)
		if n < 1 || n > lastDay+1 {
			panic(t.argError(c, "range", "ordinal must be from 1 to %d", lastDay+1))
		}
		return t.newObject(dateClass, n-1, t.shallow(c))
	})
	add("fromtimestamp", "timestamp", func(t *thread, c *call) val {
		panic(t.badArg(c, "a program has no local time").hint("write datetime.fromtimestamp(x, timezone.utc).date()"))
	})
	dt := m.class("datetime", "year, month, day, hour?, minute?, second?, microsecond?, tzinfo?", func(t *thread, c *call) val {
		n := t.dateArgs(c, 0)*perDay + t.clockArgs(c, 3)
		return t.withZone(datetimeClass, n, t.zoneArg(c, 7), t.shallow(c))
	}, is(datetimeClass))
	add = attrs(dt)
	add("now", "tz?", noClock("datetime.fromisoformat"))
	add("today", "", noClock("datetime.fromisoformat"))
	add("utcnow", "", noClock("datetime.fromisoformat"))
	add("fromisoformat", "date_string", datetimeFromISO)
	add("strptime", "date_string, format", runStrptime)
	add("combine", "date, time, tzinfo?", func(t *thread, c *call) val {
		d, x := ofClass(c.args[0]), ofClass(c.args[1])
		if d != dateClass && d != datetimeClass || x != timeClass {
			panic(t.badArg(c, "got %s and %s, want a date and a time", c.args[0].typeName(), c.args[1].typeName()))
		}
		day := c.args[0].object().n
		if d == datetimeClass {
			day, _ = floorDiv(day, perDay)
		}
		z := c.args[1].object().zone()
		if c.has(2) {
			z = t.zoneArg(c, 2)
		}
		return t.withZone(datetimeClass, day*perDay+c.args[1].object().n, z, t.shallow(c))
	})
	add("fromtimestamp", "timestamp, tz?", func(t *thread, c *call) val {
		if c.none(1) {
			panic(t.badArg(c, "a program has no local time").hint("give the zone: datetime.fromtimestamp(x, timezone.utc)"))
		}
		return t.fromTimestamp(c, t.zoneArg(c, 1))
	})
	add("utcfromtimestamp", "timestamp", func(t *thread, c *call) val { return t.fromTimestamp(c, nil) })
	clock := m.class("time", "hour?, minute?, second?, microsecond?, tzinfo?", func(t *thread, c *call) val {
		return t.withZone(timeClass, t.clockArgs(c, 0), t.zoneArg(c, 4), t.shallow(c))
	}, is(timeClass))
	attrs(clock)("fromisoformat", "time_string", func(t *thread, c *call) val {
		s := c.wantString(t, 0)
		n, off, zoned, ok := isoClock(strings.TrimPrefix(s, "T"))
		if !ok {
			panic(t.badISO(c, s))
		}
		return t.withZone(timeClass, n, t.fixed(off, zoned), t.shallow(c))
	})
	m.class("timedelta", "days?, seconds?, microseconds?, milliseconds?, minutes?, hours?, weeks?", runTimedelta, is(deltaClass))
	zone := m.class("timezone", "offset, name?", func(t *thread, c *call) val {
		if ofClass(c.args[0]) != deltaClass {
			panic(t.badArg(c, "for parameter offset: got %s, want timedelta", c.args[0].typeName()))
		}
		n := c.args[0].object().n
		if n <= -perDay || n >= perDay {
			panic(t.argError(c, "range", "offset must be less than a day"))
		}
		if c.none(1) {
			return t.newObject(zoneClass, n, t.shallow(c))
		}
		c.wantString(t, 1)
		return t.newObject(zoneClass, n, t.shallow(c), c.args[1])
	}, is(zoneClass))
	attrs(zone)
	zone.attrs.attrs["utc"] = objectVal(&object{class: zoneClass}, label.BottomID) // it is copied when it is read
	addDateMethods()
	return m
}

func (t *thread) badISO(c *call, s string) *Error {
	return t.argError(c, "parse", "invalid isoformat string: %s", t.short(stringVal(s, label.BottomID))).hint("datetime.strptime(s, format) reads other formats")
}

// field returns the int argument i, which is from low to high; def if it is absent.
func (t *thread) fieldArg(c *call, i int, low, high, def int64) int64 {
	if !c.has(i) {
		return def
	}
	n := t.intArg(c, i)
	if n < low || n > high {
		panic(t.argError(c, "range", "%s must be in %d..%d, got %d", c.def.params[i], low, high, n))
	}
	return n
}

// dateArgs returns the days of year, month and day, the arguments from i on.
func (t *thread) dateArgs(c *call, i int) int64 {
	y, m, d := t.fieldArg(c, i, 1, 9999, 1), t.fieldArg(c, i+1, 1, 12, 1), t.fieldArg(c, i+2, 1, 31, 1)
	return t.dayOf(c, y, m, d)
}

func (t *thread) dayOf(c *call, y, m, d int64) int64 {
	if d > int64(monthDays(int(y), int(m))) {
		panic(t.argError(c, "range", "day is out of range for month"))
	}
	return daysOf(int(y), int(m), int(d))
}

func monthDays(year, month int) int {
	return time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// clockArgs returns the microseconds of hour, minute, second and microsecond, the arguments from i on.
func (t *thread) clockArgs(c *call, i int) int64 {
	h, m := t.fieldArg(c, i, 0, 23, 0), t.fieldArg(c, i+1, 0, 59, 0)
	s, us := t.fieldArg(c, i+2, 0, 59, 0), t.fieldArg(c, i+3, 0, 999_999, 0)
	return ((h*60+m)*60+s)*perSecond + us
}

// zoneArg returns the timezone in argument i; nil if it is absent or None.
func (t *thread) zoneArg(c *call, i int) *object {
	if c.none(i) {
		return nil
	}
	if ofClass(c.args[i]) != zoneClass {
		panic(t.badArg(c, "for parameter %s: got %s, want a timezone", c.def.params[i], c.args[i].typeName()).hint("write timezone.utc, or timezone(timedelta(hours = 2))"))
	}
	return c.args[i].object()
}

// withZone makes a datetime or a time.
func (t *thread) withZone(c *class, n int64, z *object, l label.ID) val {
	if z == nil {
		return t.newObject(c, n, l)
	}
	return t.newObject(c, n, l, objectVal(z, l))
}

// fixed returns the zone of an offset that was read.
func (t *thread) fixed(offset int64, zoned bool) *object {
	if !zoned {
		return nil
	}
	return t.newObject(zoneClass, offset, label.BottomID).object()
}

// inRange makes a date or datetime that was computed.
func (t *thread) inRange(c *class, n int64, z *object, l label.ID) val {
	day := n
	if c == datetimeClass {
		day, _ = floorDiv(n, perDay)
	}
	if day < 0 || day > lastDay {
		panic(t.errorf(l, "range", "%sdate value out of range: years are 1 to 9999", t.prefix()))
	}
	return t.withZone(c, n, z, l)
}

func (t *thread) newDelta(c *call, us *big.Int, l label.ID) val {
	if !us.IsInt64() || us.Int64() > maxDelta || us.Int64() < -maxDelta {
		panic(t.errorf(l, "too-large", "%sa timedelta of more than %d days", t.prefix(), maxDelta/perDay))
	}
	return t.newObject(deltaClass, us.Int64(), l)
}

// runTimedelta adds up its arguments, ints or floats, exactly, and rounds once, half to even.
func runTimedelta(t *thread, c *call) val {
	units := []int64{perDay, perSecond, 1, 1000, 60 * perSecond, 3600 * perSecond, 7 * perDay}
	sum := new(big.Rat)
	for i, unit := range units {
		if !c.has(i) {
			continue
		}
		v := c.args[i].number()
		r := new(big.Rat)
		switch {
		case v.k == kFloat && !math.IsNaN(v.float()) && !math.IsInf(v.float(), 0):
			r.SetFloat64(v.float())
		case v.k == kInt:
			r.SetInt64(v.n)
		default:
			panic(t.badArg(c, "for parameter %s: got %s, want a number", c.def.params[i], t.short(v)))
		}
		sum.Add(sum, r.Mul(r, new(big.Rat).SetInt64(unit)))
	}
	t.charge(20)
	return t.newDelta(c, roundRat(sum), t.shallow(c))
}

// roundRat rounds half to even.
func roundRat(r *big.Rat) *big.Int {
	q, m := new(big.Int).DivMod(r.Num(), r.Denom(), new(big.Int))
	if d := m.Lsh(m, 1).Cmp(r.Denom()); d > 0 || d == 0 && q.Bit(0) == 1 {
		q.Add(q, big.NewInt(1))
	}
	return q
}

const epochDays = 719_162 // from 0001-01-01 to 1970-01-01

func (t *thread) fromTimestamp(c *call, z *object) val {
	v := c.args[0].number()
	if !v.isNum() || v.k == kBig {
		panic(t.badArg(c, "for parameter timestamp: got %s, want a number", t.short(v)))
	}
	r := new(big.Rat)
	if v.k == kInt {
		r.SetInt64(v.n)
	} else if r.SetFloat64(v.float()) == nil {
		panic(t.argError(c, "range", "cannot convert float %s to a time", formatFloat(v.float())))
	}
	us := roundRat(r.Mul(r, new(big.Rat).SetInt64(perSecond)))
	if us.BitLen() > 60 {
		panic(t.argError(c, "range", "year is out of range"))
	}
	n := us.Int64() + epochDays*perDay
	if z != nil {
		n += z.n
	}
	return t.inRange(datetimeClass, n, z, t.shallow(c))
}

// dateOp evaluates an operation on dates and times.
func dateOp(t *thread, op star.Token, a, b val) (val, bool) {
	x, y := ofClass(a), ofClass(b)
	l := t.join(a.lab, b.lab)
	moment := func(c *class) bool { return c == dateClass || c == datetimeClass }
	shift := func(d val, by int64) val {
		o := d.object()
		if o.class == dateClass {
			by, _ = floorDiv(by, perDay)
		}
		return t.inRange(o.class, o.n+by, o.zone(), l)
	}
	switch {
	case op == star.PLUS && moment(x) && y == deltaClass:
		return shift(a, b.object().n), true
	case op == star.PLUS && x == deltaClass && moment(y):
		return shift(b, a.object().n), true
	case op == star.MINUS && moment(x) && y == deltaClass:
		if n := b.object().n; x == dateClass { // whole days are taken off
			days, _ := floorDiv(n, perDay)
			return t.inRange(x, a.object().n-days, nil, l), true
		}
		return shift(a, -b.object().n), true
	case op == star.MINUS && x == y && moment(x):
		if x == dateClass {
			return t.newObject(deltaClass, (a.object().n-b.object().n)*perDay, l), true
		}
		if (a.object().zone() == nil) != (b.object().zone() == nil) {
			panic(t.errorf(l, "type", "can't subtract offset-naive and offset-aware datetimes").hint("give both a zone, or neither: d.replace(tzinfo = None)"))
		}
		return t.newObject(deltaClass, a.object().instant()-b.object().instant(), l), true
	}
	if x == deltaClass && y == deltaClass {
		m, n := a.object().n, b.object().n
		switch op {
		case star.PLUS:
			return t.newDelta(nil, new(big.Int).Add(big.NewInt(m), big.NewInt(n)), l), true
		case star.MINUS:
			return t.newDelta(nil, new(big.Int).Sub(big.NewInt(m), big.NewInt(n)), l), true
		case star.SLASH, star.SLASHSLASH, star.PERCENT:
			if n == 0 {
				panic(t.errorf(l, "division-by-zero", "division by a timedelta of zero"))
			}
			if op == star.SLASH {
				f, _ := new(big.Rat).SetFrac64(m, n).Float64()
				return floatVal(f, l), true
			}
			q := t.operate(star.SLASHSLASH, intVal(m, l), intVal(n, l), t.at)
			if op == star.SLASHSLASH {
				return q, true
			}
			return t.newObject(deltaClass, t.operate(star.PERCENT, intVal(m, l), intVal(n, l), t.at).n, l), true
		}
		return val{}, false
	}
	if y == deltaClass && op == star.STAR {
		a, b, x = b, a, y
	}
	if b = b.number(); x != deltaClass || !b.isNum() {
		return val{}, false
	}
	by := new(big.Rat)
	switch {
	case b.k == kBig:
		panic(t.errorf(l, "too-large", "a timedelta of more than %d days", maxDelta/perDay))
	case b.k == kInt:
		by.SetInt64(b.n)
	case by.SetFloat64(b.float()) == nil:
		panic(t.errorf(l, "range", "cannot convert float %s to an exact number", formatFloat(b.float())))
	}
	n := new(big.Rat).SetInt64(a.object().n)
	switch op {
	case star.STAR:
		return t.newDelta(nil, roundRat(n.Mul(n, by)), l), true
	case star.SLASH, star.SLASHSLASH:
		if by.Sign() == 0 {
			panic(t.errorf(l, "division-by-zero", "division of a timedelta by zero"))
		}
		n.Quo(n, by)
		if op == star.SLASH {
			return t.newDelta(nil, roundRat(n), l), true
		}
		if b.k == kInt {
			q, _ := new(big.Int).DivMod(n.Num(), n.Denom(), new(big.Int))
			return t.newDelta(nil, q, l), true
		}
	}
	return val{}, false
}

// deltaText is str of a timedelta.
func deltaText(n int64) string {
	day, us := floorDiv(n, perDay)
	var b strings.Builder
	if day != 0 {
		b.WriteString(strconv.FormatInt(day, 10) + " day")
		if day != 1 && day != -1 {
			b.WriteString("s")
		}
		b.WriteString(", ")
	}
	b.WriteString(strconv.FormatInt(us/(3600*perSecond), 10) + clockText(us % (3600 * perSecond))[2:])
	return b.String()
}

// clockText is the time of a day, with microseconds if there are some.
func clockText(us int64) string {
	t := minYear.Add(time.Duration(us) * time.Microsecond)
	if us%perSecond != 0 {
		return t.Format("15:04:05.000000")
	}
	return t.Format("15:04:05")
}

// offsetText is how far a zone is ahead, as in +02:00.
func offsetText(n int64, sep string) string {
	sign := "+"
	if n < 0 {
		sign, n = "-", -n
	}
	t := minYear.Add(time.Duration(n) * time.Microsecond)
	switch {
	case n%perSecond != 0:
		return sign + t.Format("15"+sep+"04"+sep+"05.000000")
	case n%(60*perSecond) != 0:
		return sign + t.Format("15"+sep+"04"+sep+"05")
	}
	return sign + t.Format("15"+sep+"04")
}

func zoneName(o *object) string {
	switch {
	case len(o.items) > 0:
		return o.items[0].str()
	case o.n == 0:
		return "UTC"
	}
	return "UTC" + offsetText(o.n, ":")
}

// isoText is the text of a date or time in ISO 8601.
func isoText(o *object, sep string) string {
	s := ""
	switch o.class {
	case dateClass:
		return goTime(o).Format("2006-01-02")
	case datetimeClass:
		_, us := floorDiv(o.n, perDay)
		s = goTime(o).Format("2006-01-02") + sep + clockText(us)
	case timeClass:
		s = clockText(o.n)
	}
	if z := o.zone(); z != nil {
		s += offsetText(z.n, ":")
	}
	return s
}
