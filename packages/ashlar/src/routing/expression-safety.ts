import { degreeOf } from "./expression-degree.ts";
import { type Expression, parseExpression } from "./expression-parser.ts";

/**
 * What keeps a regular expression from being tried on what callers send; `null` where nothing does.
 *
 * Refused is what this cannot judge (assertions, references back) and every repeated group that can match one text in
 * two ways, such as `(a+)+` and `(a|a)*`: on a text that fails in the end, the engine tries all combinations, and their
 * number doubles with each character. A repeated group passes where each next character leaves one way to go on, as in
 * `[a-z]+(?:-[a-z]+)*`. Refused are also three and more repetitions in a row that share a character, such as
 * `.*.*.*`.
 */
export function problemOfExpression(expression: RegExp): string | null {
  if (/[gy]/.test(expression.flags)) return "the flags g and y make it remember its last match; leave them out";
  if (expression.flags.includes("v")) return "the flag v is not supported; use u";
  const parsed = parseExpression(expression);
  if (typeof parsed === "string") return parsed;
  if (hasAmbiguousLoop(parsed)) {
    return `a repeated group in it can match one text in two ways, which takes forever on some texts; ${REMEDY}`;
  }
  if (degreeOf(parsed) > MAX_DEGREE) {
    return `more than ${MAX_DEGREE} repetitions in a row share a character, which takes seconds on some texts; ${REMEDY}`;
  }
  return null;
}

const REMEDY = "separate the repetitions by a character that is not in them";

/** The square of the longest value that is looked at is some ten thousand steps; the cube is millions. */
const MAX_DEGREE = 2;

/** One place in an expression that consumes a character. */
interface Position {
  readonly characters: ReadonlySet<string>;
  /** The places that may consume the next character; one that is listed twice can be reached in two ways. */
  readonly next: Position[];
}

interface Automaton {
  readonly first: readonly Position[];
  readonly last: readonly Position[];
  readonly all: readonly Position[];
  readonly canBeEmpty: boolean;
}

/** A fixed number of repetitions up to this is written out; more are taken for a loop, which is judged strictly. */
const MAX_COPIES = 64;

const EMPTY: Automaton = { first: [], last: [], all: [], canBeEmpty: true };

function hasAmbiguousLoop(expression: Expression): boolean {
  switch (expression.kind) {
    case "character":
      return false;
    case "sequence":
    case "choice":
      return expression.parts.some(hasAmbiguousLoop);
    case "repeat": {
      if (hasAmbiguousLoop(expression.body)) return true;
      if (expression.max === 1 || expression.body.kind === "character") return false;
      const loop = automatonOf(expression);
      return automatonOf(expression.body).canBeEmpty || isAmbiguous(loop);
    }
  }
}

/** Whether some text can be read in two ways: two places that share a character follow one another's choice point. */
function isAmbiguous(automaton: Automaton): boolean {
  return overlaps(automaton.first) || automaton.all.some((position) => overlaps(position.next));
}

function overlaps(positions: readonly Position[]): boolean {
  const seen = new Set<string>();
  for (const { characters } of positions) {
    for (const character of characters) {
      if (seen.has(character)) return true;
      seen.add(character);
    }
  }
  return false;
}

/** The places of an expression and what can follow what (Glushkov's construction), each way there listed apart. */
function automatonOf(expression: Expression): Automaton {
  switch (expression.kind) {
    case "character": {
      const position: Position = { characters: expression.characters, next: [] };
      return { first: [position], last: [position], all: [position], canBeEmpty: false };
    }
    case "choice": {
      const parts = expression.parts.map(automatonOf);
      return {
        first: parts.flatMap(({ first }) => first),
        last: parts.flatMap(({ last }) => last),
        all: parts.flatMap(({ all }) => all),
        canBeEmpty: parts.some(({ canBeEmpty }) => canBeEmpty),
      };
    }
    case "sequence":
      return expression.parts.map(automatonOf).reduce(follow, EMPTY);
    case "repeat": {
      if (expression.min === expression.max && expression.max <= MAX_COPIES)
        return copies(expression.body, expression.max);
      const body = automatonOf(expression.body);
      if (expression.max > 1) connect(body.last, body.first);
      return { ...body, canBeEmpty: body.canBeEmpty || expression.min === 0 };
    }
  }
}

function copies(body: Expression, count: number): Automaton {
  return Array.from({ length: count }, () => automatonOf(body)).reduce(follow, EMPTY);
}

function follow(before: Automaton, after: Automaton): Automaton {
  connect(before.last, after.first);
  return {
    first: before.canBeEmpty ? [...before.first, ...after.first] : before.first,
    last: after.canBeEmpty ? [...before.last, ...after.last] : after.last,
    all: [...before.all, ...after.all],
    canBeEmpty: before.canBeEmpty && after.canBeEmpty,
  };
}

function connect(from: readonly Position[], to: readonly Position[]): void {
  for (const position of from) position.next.push(...to);
}
