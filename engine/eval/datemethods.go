package eval

import (
	"math/big"
	"strconv"
	"strings"

	"callgate/engine/label"
)

// addDateMethods adds what dates and times do.
func addDateMethods() {
	moments := []*class{dateClass, datetimeClass, timeClass}
	for _, c := range append(moments, deltaClass, zoneClass) {
		c.equal = func(t *thread, a, b val) bool {
			x, y := a.object(), b.object()
			return (x.zone() == nil) == (y.zone() == nil) && x.instant() == y.instant()
		}
		c.hash = func(t *thread, v val) uint64 { return mix(uint64(v.object().instant()) ^ 0x64617465) }
		if c != zoneClass {
			c.order = func(t *thread, a, b val) (int, bool) {
				x, y := a.object(), b.object()
				if (x.zone() == nil) != (y.zone() == nil) {
					return 0, false
				}
				return compareInt(x.instant(), y.instant()), true
			}
			c.binary = dateOp
		}
	}
	unit := func(name string, of []*class, get func(o *object) int) {
		for _, c := range of {
			c.field(name, func(_ *thread, v val) val { return intVal(int64(get(v.object())), label.BottomID) })
		}
	}
	days, clocks := moments[:2], moments[1:]
	unit("year", days, func(o *object) int { return goTime(o).Year() })
	unit("month", days, func(o *object) int { return int(goTime(o).Month()) })
	unit("day", days, func(o *object) int { return goTime(o).Day() })
	unit("hour", clocks, func(o *object) int { return goTime(o).Hour() })
	unit("minute", clocks, func(o *object) int { return goTime(o).Minute() })
	unit("second", clocks, func(o *object) int { return goTime(o).Second() })
	unit("microsecond", clocks, func(o *object) int { return goTime(o).Nanosecond() / 1000 })
	for _, c := range clocks {
		c.field("tzinfo", func(_ *thread, v val) val {
			if z := v.object().zone(); z != nil {
				return objectVal(z, label.BottomID)
			}
			return noneVal(label.BottomID)
		})
		c.method("utcoffset", "", func(t *thread, c *call) val {
			if z := c.recv.object().zone(); z != nil {
				return t.newObject(deltaClass, z.n, t.shallow(c))
			}
			return noneVal(t.shallow(c))
		})
		c.method("tzname", "", func(t *thread, c *call) val {
			if z := c.recv.object().zone(); z != nil {
				return stringVal(t.copied(zoneName(z)), t.shallow(c))
			}
			return noneVal(t.shallow(c))
		})
	}
	for _, c := range moments {
		c.method("strftime", "format", func(t *thread, c *call) val {
			w := textWriter{t: t}
			w.strftime(c.recv.object(), c.wantString(t, 0), t.at)
			return stringVal(w.end(), t.shallow(c))
		})
		c.format = func(w *textWriter, v val, spec string, p pos) { w.strftime(v.object(), spec, p) }
		c.text = func(v val) string { return isoText(v.object(), " ") }
		c.repr = func(w *textWriter, v val) { w.put(dateRepr(v.object())) }
		c.check = func(o *object) bool {
			day, limit := o.n, int64(lastDay)
			switch c {
			case datetimeClass:
				day, _ = floorDiv(o.n, perDay)
			case timeClass:
				limit = perDay - 1
			}
			zoned := len(o.items) == 0 || len(o.items) == 1 && c != dateClass && ofClass(o.items[0]) == zoneClass
			return day >= 0 && day <= limit && zoned
		}
	}
	dateClass.method("isoformat", "", func(t *thread, c *call) val { return stringVal(t.copied(isoText(c.recv.object(), "T")), t.shallow(c)) })
	datetimeClass.method("isoformat", "sep?, timespec?", isoformat)
	timeClass.method("isoformat", "timespec?", isoformat)
	for _, c := range days {
		weekday := func(name string, first int64) {
			c.method(name, "", func(t *thread, c *call) val { return intVal(dayOf(c.recv.object())%7+first, t.shallow(c)) })
		}
		weekday("weekday", 0)
		weekday("isoweekday", 1)
		c.method("toordinal", "", func(t *thread, c *call) val { return intVal(dayOf(c.recv.object())+1, t.shallow(c)) })
		c.method("isocalendar", "", func(t *thread, c *call) val {
			l := t.shallow(c)
			y, w := goTime(c.recv.object()).ISOWeek()
			t.alloc(tupleSize + 3*valSize)
			return tupleVal([]val{intVal(int64(y), l), intVal(int64(w), l), intVal(dayOf(c.recv.object())%7+1, l)}, l)
		})
	}
	dateClass.method("replace", "year?, month?, day?", func(t *thread, c *call) val {
		return t.newObject(dateClass, t.replaced(c), t.shallow(c))
	})
	datetimeClass.method("replace", "year?, month?, day?, hour?, minute?, second?, microsecond?, tzinfo?", func(t *thread, c *call) val {
		return t.withZone(datetimeClass, t.replaced(c)*perDay+t.reclocked(c, 3), t.rezoned(c, 7), t.shallow(c))
	})
	timeClass.method("replace", "hour?, minute?, second?, microsecond?, tzinfo?", func(t *thread, c *call) val {
		return t.withZone(timeClass, t.reclocked(c, 0), t.rezoned(c, 4), t.shallow(c))
	})
	datetimeClass.method("date", "", func(t *thread, c *call) val {
		return t.newObject(dateClass, dayOf(c.recv.object()), t.shallow(c))
	})
	datetimeClass.method("time", "", func(t *thread, c *call) val { return t.newObject(timeClass, clockOf(c.recv.object()), t.shallow(c)) })
	datetimeClass.method("timetz", "", func(t *thread, c *call) val {
		return t.withZone(timeClass, clockOf(c.recv.object()), c.recv.object().zone(), t.shallow(c))
	})
	datetimeClass.method("timestamp", "", func(t *thread, c *call) val {
		o := c.recv.object()
		if o.zone() == nil {
			panic(t.argError(c, "no-clock", "a datetime without a zone is no moment: a program has no local time").hint("give it a zone: d.replace(tzinfo = timezone.utc).timestamp()"))
		}
		f, _ := new(big.Rat).SetFrac64(o.instant()-epochDays*perDay, perSecond).Float64()
		return floatVal(f, t.shallow(c))
	})
	datetimeClass.method("astimezone", "tz?", func(t *thread, c *call) val {
		o, z := c.recv.object(), t.zoneArg(c, 0)
		if o.zone() == nil || z == nil {
			panic(t.argError(c, "no-clock", "a program has no local time").hint("give both zones: d.replace(tzinfo = timezone.utc).astimezone(tz)"))
		}
		return t.inRange(datetimeClass, o.instant()+z.n, z, t.shallow(c))
	})

	d := deltaClass
	part := func(name string, get func(n int64) int64) {
		d.field(name, func(_ *thread, v val) val { return intVal(get(v.object().n), label.BottomID) })
	}
	part("days", func(n int64) int64 { day, _ := floorDiv(n, perDay); return day })
	part("seconds", func(n int64) int64 { _, us := floorDiv(n, perDay); return us / perSecond })
	part("microseconds", func(n int64) int64 { _, us := floorDiv(n, perSecond); return us })
	d.method("total_seconds", "", func(t *thread, c *call) val {
		f, _ := new(big.Rat).SetFrac64(c.recv.object().n, perSecond).Float64()
		return floatVal(f, t.shallow(c))
	})
	d.truth = func(v val) bool { return v.object().n != 0 }
	d.text = func(v val) string { return deltaText(v.object().n) }
	d.repr = func(w *textWriter, v val) { w.put(deltaRepr(v.object().n)) }
	d.check = func(o *object) bool { return len(o.items) == 0 && o.n <= maxDelta && o.n >= -maxDelta }

	z := zoneClass
	z.text = func(v val) string { return zoneName(v.object()) }
	z.repr = func(w *textWriter, v val) {
		o := v.object()
		switch {
		case o.n == 0 && len(o.items) == 0:
			w.put("datetime.timezone.utc")
		default:
			w.put("datetime.timezone(" + deltaRepr(o.n))
			if len(o.items) > 0 {
				w.put(", ")
				w.write(o.items[0])
			}
			w.put(")")
		}
	}
	z.check = func(o *object) bool {
		return o.n < perDay && o.n > -perDay && (len(o.items) == 0 || len(o.items) == 1 && o.items[0].k == kString)
	}
	z.method("utcoffset", "dt", func(t *thread, c *call) val { return t.newObject(deltaClass, c.recv.object().n, t.shallow(c)) })
	z.method("tzname", "dt", func(t *thread, c *call) val {
		return stringVal(t.copied(zoneName(c.recv.object())), t.shallow(c))
	})
}

func compareInt(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// dayOf returns the day of a date or datetime.
func dayOf(o *object) int64 {
	if o.class == dateClass {
		return o.n
	}
	day, _ := floorDiv(o.n, perDay)
	return day
}

// clockOf returns the microseconds since the day began.
func clockOf(o *object) int64 {
	_, us := floorDiv(o.n, perDay)
	return us
}

// replaced returns the day of the receiver with the arguments in the place of its year, month and day.
func (t *thread) replaced(c *call) int64 {
	g := goTime(c.recv.object())
	return t.dayOf(c, t.fieldArg(c, 0, 1, 9999, int64(g.Year())), t.fieldArg(c, 1, 1, 12, int64(g.Month())), t.fieldArg(c, 2, 1, 31, int64(g.Day())))
}

// reclocked is replaced for its time of day.
func (t *thread) reclocked(c *call, i int) int64 {
	g := goTime(c.recv.object())
	h, m := t.fieldArg(c, i, 0, 23, int64(g.Hour())), t.fieldArg(c, i+1, 0, 59, int64(g.Minute()))
	s, us := t.fieldArg(c, i+2, 0, 59, int64(g.Second())), t.fieldArg(c, i+3, 0, 999_999, int64(g.Nanosecond()/1000))
	return ((h*60+m)*60+s)*perSecond + us
}

// rezoned is replaced for its zone, which None takes away.
func (t *thread) rezoned(c *call, i int) *object {
	if !c.has(i) {
		return c.recv.object().zone()
	}
	return t.zoneArg(c, i)
}

func isoformat(t *thread, c *call) val {
	o := c.recv.object()
	sep, spec := "T", "auto"
	i := 0
	if o.class == datetimeClass {
		if i = 1; c.has(0) {
			if sep = c.wantString(t, 0); len(sep) != 1 {
				panic(t.badArg(c, "for parameter sep: want one character"))
			}
		}
	}
	if c.has(i) {
		spec = c.wantString(t, i)
	}
	s := isoText(o, sep)
	if spec != "auto" {
		g := goTime(o)
		layout, ok := map[string]string{"hours": "15", "minutes": "15:04", "seconds": "15:04:05", "milliseconds": "15:04:05.000", "microseconds": "15:04:05.000000"}[spec]
		if !ok {
			panic(t.argError(c, "argument", "unknown timespec %s", t.short(c.args[i])).hint("there are auto, hours, minutes, seconds, milliseconds and microseconds"))
		}
		s = g.Format(layout)
		if o.class == datetimeClass {
			s = g.Format("2006-01-02") + sep + s
		}
		if z := o.zone(); z != nil {
			s += offsetText(z.n, ":")
		}
	}
	return stringVal(t.copied(s), t.shallow(c))
}

// dateRepr is the repr of a date, datetime or time.
func dateRepr(o *object) string {
	g := goTime(o)
	var parts []int
	if o.class != timeClass {
		parts = append(parts, g.Year(), int(g.Month()), g.Day())
	}
	if o.class != dateClass {
		parts = append(parts, g.Hour(), g.Minute())
		if us := g.Nanosecond() / 1000; us != 0 {
			parts = append(parts, g.Second(), us)
		} else if g.Second() != 0 {
			parts = append(parts, g.Second())
		}
	}
	var b strings.Builder
	b.WriteString(o.class.name + "(")
	for i, n := range parts {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.Itoa(n))
	}
	if z := o.zone(); z != nil {
		b.WriteString(", tzinfo=datetime.timezone")
		switch {
		case len(z.items) > 0:
			b.WriteString("(" + deltaRepr(z.n) + ", " + quote(z.items[0].str(), false) + ")")
		case z.n == 0:
			b.WriteString(".utc")
		default:
			b.WriteString("(" + deltaRepr(z.n) + ")")
		}
	}
	return b.String() + ")"
}

func deltaRepr(n int64) string {
	day, us := floorDiv(n, perDay)
	var parts []string
	for _, p := range []struct {
		name string
		n    int64
	}{{"days", day}, {"seconds", us / perSecond}, {"microseconds", us % perSecond}} {
		if p.n != 0 {
			parts = append(parts, p.name+"="+strconv.FormatInt(p.n, 10))
		}
	}
	if len(parts) == 0 {
		parts = []string{"0"}
	}
	return "datetime.timedelta(" + strings.Join(parts, ", ") + ")"
}
