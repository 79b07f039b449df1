"""Many mutants in one text, of which the program runs the one that it is told: mutant schemata (Untch, Offutt and Harrold, 1993).

A place becomes `(AmpcMutant(17) ? (changed) : (original))`, or `{ if (AmpcMutant(17)) { changed } else { original } }` where the changed token is in a
statement that declares nothing. A mutant without a place for either (a constant expression, a table at namespace scope) is none of these.
"""

import re
from collections import namedtuple

from tokens import is_code, raw_tokens, tokens

# first, last: indices of tokens; form: how the choice is written.
Place = namedtuple("Place", "first last form")

_FORMS = {
    "value": ("(", "AmpcMutant({number}) ? ({changed}) : ", "({original})", ")"),
    "condition": ("(", "AmpcMutant({number}) ? static_cast<bool>({changed}) : ", "static_cast<bool>({original})", ")"),
    "effect": ("(", "AmpcMutant({number}) ? static_cast<void>({changed}) : ", "static_cast<void>({original})", ")"),
    "statement": ("{ ", "if (AmpcMutant({number})) {{ {changed} }} else ", "{{ {original} }}", " }"),
}
_HEADS = ("if", "for", "while", "switch")
_SCOPES = {"namespace", "class", "struct", "union", "enum", "extern"}
_DECLARES = {"const", "constexpr", "static", "auto", "using", "typedef", "thread_local", "struct", "class", "enum", "extern", "constinit"}
_KEYWORDS = {"return", "throw", "delete", "new", "else", "do", "goto", "case", "co_return", "sizeof"}


class Source:
    """A text and the places in it that a choice may stand in."""

    def __init__(self, text):
        self.text = text
        self._found = tokens(text)
        self._open, self._close, self._outer, stack = {}, {}, [], []
        for i, token in enumerate(self._found):
            if token.text in ")]}" and stack:
                self._open[i] = stack.pop()
                self._close[self._open[i]] = i
            self._outer.append(stack[-1] if stack else -1)
            if token.text in "([{":
                stack.append(i)

    def places(self, mutant):
        """Positions of the mutant's choice, the most faithful first; a later one is for a compiler that refuses an earlier one."""
        touched = [i for i, t in enumerate(self._found) if t.start < mutant.end and t.end > mutant.start]
        if not touched or not self._runs(touched[0]):
            return []
        found, i = [], touched[0]
        while True:
            outer = self._outer[i]
            if outer < 0 or self._is_code(outer):
                found += self._in_code(i)
                break
            found += self._in_brackets(i, outer)
            if self._head(outer):
                break
            i = outer
        if any("constexpr" in self._words(p) for p in found):
            return []
        fits = [p for p in found if p.first <= touched[0] and touched[-1] <= p.last and self._plain(p)]
        return [p._replace(form="value") if p.form == "declared" else p for p in reversed(fits) if p.form != "nothing"]

    def combined(self, chosen):
        """The text with a choice at each of [(number, mutant, place)]; lines keep their numbers."""
        nodes = {}
        for number, mutant, place in chosen:
            nodes.setdefault(place, []).append((number, mutant))
        return self._written(0, len(self.text), sorted(nodes.items(), key=lambda node: (node[0].first, -node[0].last)))

    def lines(self, place):
        first, last = self._found[place.first], self._found[place.last]
        return range(self.text.count("\n", 0, first.start) + 1, self.text.count("\n", 0, last.end) + 2)

    def _written(self, start, end, nodes):
        out, at = [], start
        while nodes:
            place, mutants = nodes[0]
            first, last = self._found[place.first].start, self._found[place.last].end
            inner = [node for node in nodes[1:] if node[0].last <= place.last and node[0].first <= place.last]
            nodes = [node for node in nodes[1:] if node not in inner]
            begin, choice, other, finish = _FORMS[place.form]
            out += [self.text[at:first], begin]
            for number, mutant in mutants:
                changed = self.text[first : mutant.start] + mutant.after + self.text[mutant.end : last]
                out.append(choice.format(number=number, changed=" ".join(word for word, _, _ in raw_tokens(changed))))
            out += [other.format(original=self._written(first, last, inner)), finish]
            at = last
        return "".join(out + [self.text[at:end]])

    def _plain(self, place):
        """Whether no directive is within."""
        return not re.search(r"\n[ \t]*#", self.text[self._found[place.first].start : self._found[place.last].end])

    def _is_code(self, i):
        return self._found[i].text == "{" and is_code(self._found, i)

    def _text(self, i):
        return self._found[i].text if 0 <= i < len(self._found) else ""

    def _words(self, place):
        return [t.text for t in self._found[place.first : place.last + 1]]

    def _head(self, i):
        """The word before the parenthesis at `i` where that is the head of a statement."""
        word = self._text(i - 1)
        return (word if word in _HEADS else "if" if word == "constexpr" else "") if self._text(i) == "(" else ""

    def _is_lambda(self, i):
        """Whether the brace at `i` opens the body of a lambda."""
        j = i - 1
        for k in range(i - 1, max(i - 16, 0), -1):  # the type behind an arrow
            if self._text(k) in (";", "{", "}"):
                break
            if self._text(k) == "->":
                j = k - 1
                break
        while self._text(j) in ("mutable", "noexcept"):
            j -= 1
        if self._text(j) == ")":
            j = self._open.get(j, 0) - 1
        return self._text(j) == "]"

    def _start(self, i):
        """The first token of the statement that `i` stands in, at the same level; None within a label."""
        j = i
        while j - 1 > self._outer[i]:
            text, opens = self._text(j - 1), self._open.get(j - 1)
            if text in (";", "else", "do"):
                break
            if opens is not None:
                if (self._is_code(opens) and not self._is_lambda(opens)) or self._head(opens):
                    break
                j = opens
            else:
                j -= 1
        while self._text(j) in ("case", "default"):
            colon = self._next(j, (":",))
            if colon is None or colon >= i:
                return None
            j = colon + 1
        return j

    def _next(self, i, wanted):
        """The next token of these at the same level; None where a block or the end of the level comes first."""
        while i < len(self._found):
            text = self._text(i)
            if text in wanted:
                return i
            if text in ")]}" or (self._is_code(i) and not self._is_lambda(i)):
                return None
            i = self._close.get(i, i) + 1
        return None

    def _runs(self, i):
        """Whether the token is in a function, where a choice is made each time: in its body, or before it in the arguments of an initialiser."""
        while self._outer[i] >= 0:
            i = self._outer[i]
            if self._is_code(i):
                head = [self._text(j) for j in range(self._start(i), i)]
                return not (_SCOPES | {"constexpr", "consteval"}) & set(head)
        start = self._start(i)
        at_scope = start is None or self._next(start, (";",)) is not None
        return not at_scope and "constexpr" not in [self._text(j) for j in range(start, i)]

    def _parts(self, first, last, signs):
        """[(first, last)] of what the signs separate between two tokens of a level."""
        result, start, i = [], first, first
        while i <= last:
            if self._text(i) in signs and not self._found[i].in_type:
                result.append((start, i - 1))
                start = i + 1
            i = self._close.get(i, i) + 1
        return result + [(start, last)]

    def _part(self, i, first, last, signs):
        return next((part for part in self._parts(first, last, signs) if part[0] <= i <= part[1]), None)

    def _declares(self, first, last):
        """Whether a part starts like `Type name`."""
        if self._text(first) in _DECLARES:
            return True
        if self._text(first) in _KEYWORDS or not re.match(r"[A-Za-z_]", self._text(first)):
            return False
        for i in range(first + 1, last + 1):
            text, before = self._text(i), self._text(i - 1)
            name = re.match(r"[A-Za-z_]", text) and not self._found[i].in_type
            if name and (re.match(r"\w", before) or self._found[i - 1].text in (">", ">>") and self._found[i - 1].in_type):
                return True
            if name and before in ("&", "*", "&&") and self._found[i - 1].start == self._found[i - 2].end:  # of a type, not between two values
                return True
            if text in ("(", "[", "=", ".", "->", "{"):
                return False
        return False

    def _value(self, i, part):
        """The place of a value within `part`: what it is initialised with or assigned, or all of it."""
        first, last = part
        sides = self._parts(first, last, ("=",))
        if len(sides) > 1:
            return [Place(sides[-1][0], last, "declared")] if i >= sides[-1][0] and self._text(sides[-1][0]) != "{" else []
        return [] if self._text(first) == "{" or self._declares(first, last) else [Place(first, last, "value")]

    def _in_brackets(self, i, outer):
        head, last = self._head(outer), self._close.get(outer, len(self._found)) - 1
        if not head:
            part = self._part(i, outer + 1, last, (",",))
            return self._value(i, part) if part else []
        parts = self._parts(outer + 1, last, (";",))
        part = self._part(i, outer + 1, last, (";",))
        if head == "for" and len(parts) == 1:
            sides = self._parts(outer + 1, last, (":",))
            return [Place(sides[1][0], last, "value")] if len(sides) == 2 and i >= sides[1][0] else []
        if head == "for" and part == parts[-1] and len(parts) == 3:
            return [Place(*part, "effect")]
        if head == "for" and part == parts[0] or part != parts[-1] and head != "for" or self._declares(*part):
            return self._value(i, self._part(i, *part, (",",)))
        return [Place(*part, "value" if head == "switch" else "condition")]

    def _in_code(self, i):
        first = self._start(i)
        last = None if first is None else self._next(first, (";",))
        if last is None:
            return []
        if self._declares(first, last) or "ASSIGN" in self._text(first) or not re.match(r"[\w(*+:-]", self._text(first)):
            part = self._part(i, first, last - 1, (",",))
            return (self._value(i, part) if part and len(self._parts(*part, ("=",))) > 1 else []) + [Place(first, last, "nothing")]
        return [Place(first, last, "statement")]
