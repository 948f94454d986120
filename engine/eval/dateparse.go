package eval

import (
	"strconv"
	"strings"

	"callgate/engine/label"
)

// number reads n digits.
func number(s string, n int) (v int64, rest string, ok bool) {
	if len(s) < n {
		return 0, s, false
	}
	for _, c := range []byte(s[:n]) {
		if c < '0' || c > '9' {
			return 0, s, false
		}
		v = v*10 + int64(c-'0')
	}
	return v, s[n:], true
}

// isoDate reads a date as ISO 8601 writes it: 2024-03-05, 20240305, 2024-W10-2.
func isoDate(s string) (days int64, rest string, ok bool) {
	y, s, ok := number(s, 4)
	if !ok || y == 0 {
		return 0, s, false
	}
	dash := strings.HasPrefix(s, "-")
	s = strings.TrimPrefix(s, "-")
	if strings.HasPrefix(s, "W") {
		w, s, ok := number(s[1:], 2)
		d := int64(1)
		if ok && (!dash || strings.HasPrefix(s, "-")) && len(s) > 0 && s[0] != 'T' && s[0] != ' ' {
			d, s, ok = number(strings.TrimPrefix(s, "-"), 1)
		}
		if !ok || w < 1 || d < 1 || d > 7 {
			return 0, s, false
		}
		days := weekStart(int(y)) + (w-1)*7 + d - 1
		if w > 52 && days >= weekStart(int(y)+1) {
			return 0, s, false
		}
		return days, s, days >= 0 && days <= lastDay
	}
	m, s, ok1 := number(s, 2)
	if dash != strings.HasPrefix(s, "-") {
		return 0, s, false
	}
	d, s, ok2 := number(strings.TrimPrefix(s, "-"), 2)
	if !ok1 || !ok2 || m < 1 || m > 12 || d < 1 || d > int64(monthDays(int(y), int(m))) {
		return 0, s, false
	}
	return daysOf(int(y), int(m), int(d)), s, true
}

// weekStart returns the Monday of the first week of a year, as ISO 8601 counts weeks.
func weekStart(year int) int64 {
	fourth := daysOf(year, 1, 4)
	return fourth - fourth%7 // 0001-01-01 is a Monday
}

// isoClock reads a time with what may follow it: a fraction, and a zone.
func isoClock(s string) (us, offset int64, zoned, ok bool) {
	at := strings.IndexAny(s, "+-Zz")
	clock := s
	if at >= 0 {
		clock = s[:at]
	}
	us, ok = isoTime(clock)
	if !ok || us >= perDay {
		return 0, 0, false, false
	}
	if at < 0 {
		return us, 0, false, true
	}
	if z := s[at:]; z == "Z" || z == "z" {
		return us, 0, true, true
	}
	offset, ok = isoTime(s[at+1:])
	if s[at] == '-' {
		offset = -offset
	}
	return us, offset, true, ok && offset < perDay && offset > -perDay
}

// isoTime reads hours, and perhaps minutes, seconds and a fraction.
func isoTime(s string) (us int64, ok bool) {
	h, s, ok := number(s, 2)
	if !ok {
		return 0, false
	}
	us = h * 3600 * perSecond
	colon := strings.HasPrefix(s, ":")
	for _, unit := range []int64{60 * perSecond, perSecond} {
		if s == "" {
			return us, h < 24
		}
		if colon != strings.HasPrefix(s, ":") {
			return 0, false
		}
		n, rest, ok := number(strings.TrimPrefix(s, ":"), 2)
		if !ok || n > 59 {
			return 0, false
		}
		us, s = us+n*unit, rest
	}
	if s == "" {
		return us, h < 24
	}
	if s[0] != '.' && s[0] != ',' || len(s) == 1 {
		return 0, false
	}
	for i, c := range []byte(s[1:]) {
		if c < '0' || c > '9' {
			return 0, false
		}
		if i < 6 {
			us += int64(c-'0') * []int64{100_000, 10_000, 1000, 100, 10, 1}[i]
		}
	}
	return us, h < 24
}

func datetimeFromISO(t *thread, c *call) val {
	s := c.wantString(t, 0)
	days, rest, ok := isoDate(s)
	if !ok {
		panic(t.badISO(c, s))
	}
	us, off, zoned := int64(0), int64(0), false
	if rest != "" {
		sep := 1
		for sep < len(rest) && rest[sep]&0xc0 == 0x80 { // any one character
			sep++
		}
		if us, off, zoned, ok = isoClock(rest[sep:]); !ok {
			panic(t.badISO(c, s))
		}
	}
	return t.withZone(datetimeClass, days*perDay+us, t.fixed(off, zoned), t.shallow(c))
}

var (
	monthNames = []string{"january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"}
	dayNames   = []string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}
)

// named reads one of some names, or of their first three letters.
func nameIn(s string, names []string, short bool) (i int, rest string, ok bool) {
	for i, n := range names {
		if short {
			n = n[:3]
		}
		if len(s) >= len(n) && strings.EqualFold(s[:len(n)], n) {
			return i, s[len(n):], true
		}
	}
	return 0, s, false
}

// runStrptime reads a text by a format.
func runStrptime(t *thread, c *call) val {
	s, format := c.wantString(t, 0), c.wantString(t, 1)
	t.charge(int64(len(s)+len(format)) / 4)
	bad := func() {
		panic(t.argError(c, "parse", "time data %s does not match format %s", t.short(c.args[0]), t.short(c.args[1])))
	}
	year, month, day, hour, minute, second, micro := int64(1900), int64(1), int64(1), int64(0), int64(0), int64(0), int64(0)
	yearDay, pm, twelve := int64(-1), false, false
	var z *object
	// upTo reads one to n digits.
	upTo := func(n int, low, high int64) int64 {
		got := 0
		for got < n && got < len(s) && s[got] >= '0' && s[got] <= '9' {
			got++
		}
		for ; got > 0; got-- { // fewer digits, if that many are too much
			v, rest, _ := number(s, got)
			if v >= low && v <= high {
				s = rest
				return v
			}
		}
		bad()
		return 0
	}
	format = strings.NewReplacer("%D", "%m/%d/%y", "%T", "%H:%M:%S", "%R", "%H:%M", "%F", "%Y-%m-%d", "%c", "%a %b %d %H:%M:%S %Y", "%x", "%m/%d/%y", "%X", "%H:%M:%S").Replace(format)
	for i := 0; i < len(format); i++ {
		f := format[i]
		if f == ' ' || f >= '\t' && f <= '\r' {
			for s != "" && (s[0] == ' ' || s[0] >= '\t' && s[0] <= '\r') {
				s = s[1:]
			}
			continue
		}
		if f != '%' {
			if s == "" || s[0] != f && !strings.EqualFold(s[:1], string(f)) {
				bad()
			}
			s = s[1:]
			continue
		}
		if i++; i == len(format) {
			panic(t.argError(c, "parse", "stray %% in format %s", t.short(c.args[1])))
		}
		switch format[i] {
		case 'Y':
			v, rest, ok := number(s, 4)
			if !ok || v == 0 {
				bad()
			}
			year, s = v, rest
		case 'y':
			v, rest, ok := number(s, 2)
			if !ok {
				bad()
			}
			if year, s = 1900+v, rest; v < 69 {
				year += 100
			}
		case 'm':
			month = upTo(2, 1, 12)
		case 'd', 'e':
			day = upTo(2, 1, 31)
		case 'H':
			hour = upTo(2, 0, 23)
		case 'I':
			hour, twelve = upTo(2, 1, 12), true
		case 'M':
			minute = upTo(2, 0, 59)
		case 'S':
			second = upTo(2, 0, 61)
		case 'j':
			yearDay = upTo(3, 1, 366)
		case 'f':
			n := 0
			for n < 6 && n < len(s) && s[n] >= '0' && s[n] <= '9' {
				n++
			}
			if n == 0 {
				bad()
			}
			micro, _, _ = number(s[:n]+"000000", 6)
			s = s[n:]
		case 'b', 'h', 'B':
			m, rest, ok := nameIn(s, monthNames, format[i] != 'B')
			if !ok {
				bad()
			}
			month, s = int64(m)+1, rest
		case 'a', 'A':
			_, rest, ok := nameIn(s, dayNames, format[i] == 'a')
			if !ok {
				bad()
			}
			s = rest
		case 'p':
			if len(s) < 2 || !strings.EqualFold(s[:2], "am") && !strings.EqualFold(s[:2], "pm") {
				bad()
			}
			pm, s = s[0]|0x20 == 'p', s[2:]
		case 'z':
			if strings.HasPrefix(s, "Z") {
				z, s = t.fixed(0, true), s[1:]
				break
			}
			n := 0
			for n < len(s) && (n == 0 && (s[0] == '+' || s[0] == '-') || n > 0 && (s[n] >= '0' && s[n] <= '9' || s[n] == ':')) {
				n++
			}
			off, ok := int64(0), n > 1
			if ok {
				off, ok = isoTime(s[1:n])
			}
			if !ok || n < 5 {
				bad()
			}
			if s[0] == '-' {
				off = -off
			}
			z, s = t.fixed(off, true), s[n:]
		case 'Z':
			for _, name := range []string{"UTC", "GMT"} {
				if len(s) >= 3 && strings.EqualFold(s[:3], name) {
					s = s[3:]
					break
				}
			}
		case '%':
			if !strings.HasPrefix(s, "%") {
				bad()
			}
			s = s[1:]
		default:
			panic(t.argError(c, "parse", "'%c' is a bad directive in format %s", format[i], t.short(c.args[1])))
		}
	}
	if s != "" {
		panic(t.argError(c, "parse", "unconverted data remains: %s", t.bare(stringVal(s, label.BottomID))))
	}
	if twelve {
		if hour %= 12; pm {
			hour += 12
		}
	}
	if second > 59 {
		bad()
	}
	days := int64(0)
	if yearDay > 0 {
		days = daysOf(int(year), 1, 1) + yearDay - 1
	} else {
		days = t.dayOf(c, year, month, day)
	}
	n := days*perDay + ((hour*60+minute)*60+second)*perSecond + micro
	t.at = c.pos
	return t.inRange(datetimeClass, n, z, t.shallow(c))
}

// strftime writes a date or time by a format.
func (w *textWriter) strftime(o *object, format string, p pos) {
	g := goTime(o)
	wd := (int(g.Weekday()) + 6) % 7
	for format != "" {
		i := strings.IndexByte(format, '%')
		if i < 0 || i+1 == len(format) {
			w.put(format)
			return
		}
		w.put(format[:i])
		pad := true
		at := i + 1
		if format[at] == '-' && at+1 < len(format) {
			pad = false
			at++
		}
		f := format[at]
		format = format[at+1:]
		digits := func(n, width int) {
			s := strconv.Itoa(n)
			for len(s) < width && pad {
				s = "0" + s
			}
			w.put(s)
		}
		_, isoWeek := g.ISOWeek()
		isoYear, _ := g.ISOWeek()
		switch f {
		case 'Y':
			digits(g.Year(), 4)
		case 'y':
			digits(g.Year()%100, 2)
		case 'm':
			digits(int(g.Month()), 2)
		case 'd':
			digits(g.Day(), 2)
		case 'e':
			w.put(g.Format("_2"))
		case 'H':
			digits(g.Hour(), 2)
		case 'I':
			digits((g.Hour()+11)%12+1, 2)
		case 'M':
			digits(g.Minute(), 2)
		case 'S':
			digits(g.Second(), 2)
		case 'f':
			pad = true
			digits(g.Nanosecond()/1000, 6)
		case 'j':
			digits(g.YearDay(), 3)
		case 'p':
			w.put(g.Format("PM"))
		case 'a':
			w.put(g.Format("Mon"))
		case 'A':
			w.put(g.Weekday().String())
		case 'b', 'h':
			w.put(g.Format("Jan"))
		case 'B':
			w.put(g.Month().String())
		case 'w':
			digits(int(g.Weekday()), 1)
		case 'u':
			digits(wd+1, 1)
		case 'U':
			digits((g.YearDay()+6-int(g.Weekday()))/7, 2)
		case 'W':
			digits((g.YearDay()+6-wd)/7, 2)
		case 'V':
			digits(isoWeek, 2)
		case 'G':
			digits(isoYear, 4)
		case 'F':
			w.put(g.Format("2006-01-02"))
		case 'T', 'X':
			w.put(g.Format("15:04:05"))
		case 'R':
			w.put(g.Format("15:04"))
		case 'D', 'x':
			w.put(g.Format("01/02/06"))
		case 'c':
			w.put(g.Format("Mon Jan _2 15:04:05 2006"))
		case 's':
			w.put(strconv.Itoa(int(g.Unix())))
		case 'z':
			if z := o.zone(); z != nil {
				w.put(offsetText(z.n, ""))
			}
		case 'Z':
			if z := o.zone(); z != nil {
				w.put(zoneName(z))
			}
		case 'n':
			w.put("\n")
		case 't':
			w.put("\t")
		case '%':
			w.put("%")
		default:
			w.put("%" + string(rune(f)))
		}
	}

}
