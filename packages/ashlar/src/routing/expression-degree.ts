import type { Expression } from "./expression-parser.ts";

/** From so many repetitions on, a bounded one is as bad as one without an end. */
const MANY = 8;

const NEVER = Number.NEGATIVE_INFINITY;

/** How many repetitions, one after the other, a text of one character alone can be shared out among. */
interface Shares {
  /** Where the text is all that the expression matches; `NEVER` where it does not match such a text. */
  readonly whole: number;
  /** Where the text is what a match begins with. */
  readonly start: number;
  /** Where the text is what a match ends with. */
  readonly end: number;
  /** Where the text is anywhere in a match. */
  readonly most: number;
}

const NOTHING: Shares = { whole: 0, start: 0, end: 0, most: 0 };

/**
 * The largest number of repetitions in a row that one run of a character can be shared out among: 3 for `a*[ab]*a*`, 1
 * for `[a-z]+-[a-z]+`. A text that fails in the end takes its length to the power of that number.
 */
export function degreeOf(expression: Expression): number {
  const characters = charactersOf(expression);
  return Math.max(0, ...[...characters].map((character) => sharesOf(expression, character).most));
}

function charactersOf(expression: Expression): ReadonlySet<string> {
  if (expression.kind === "character") return expression.characters;
  const parts = expression.kind === "repeat" ? [expression.body] : expression.parts;
  return new Set(parts.flatMap((part) => [...charactersOf(part)]));
}

function sharesOf(expression: Expression, character: string): Shares {
  switch (expression.kind) {
    case "character":
      return expression.characters.has(character) ? NOTHING : { ...NOTHING, whole: NEVER };
    case "choice":
      return expression.parts.map((part) => sharesOf(part, character)).reduce(either);
    case "sequence":
      return expression.parts.map((part) => sharesOf(part, character)).reduce(then, NOTHING);
    case "repeat": {
      const body = sharesOf(expression.body, character);
      const once = expression.min === 0 ? either(body, NOTHING) : body;
      if (body.whole === NEVER || expression.max < MANY) return once;
      return either(once, { whole: 1, start: 1, end: 1, most: 1 });
    }
  }
}

function either(a: Shares, b: Shares): Shares {
  return {
    whole: Math.max(a.whole, b.whole),
    start: Math.max(a.start, b.start),
    end: Math.max(a.end, b.end),
    most: Math.max(a.most, b.most),
  };
}

function then(a: Shares, b: Shares): Shares {
  return {
    whole: a.whole + b.whole,
    start: Math.max(a.start, a.whole + b.start),
    end: Math.max(b.end, b.whole + a.end),
    most: Math.max(a.most, b.most, a.end + b.start),
  };
}
