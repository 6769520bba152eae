import { AshlarError, suggestion } from "../support/index.ts";
import { problemOfExpression } from "./expression-safety.ts";
import type { ValueSigner } from "./value-signer.ts";

/** What a parameter's values look like, and how they stand in a URL. */
export interface Compiler {
  /** Restricts the segment as it stands in the URL, before decoding; a regular expression without anchors. */
  readonly constraint: string | null;
  /**
   * What the handler gets for a decoded segment, or `null` where the route does not match. Where left out, it gets the
   * segment itself.
   */
  readonly read?: (value: string) => string | null;
  /** What stands for a value in a URL, before encoding, or `null` where the value does not fit. */
  readonly write: (value: string) => string | null;
  /** Whether it takes the rest of the path, slashes included. */
  readonly takesRest: boolean;
  /** Other compilers that take everything this one takes. */
  readonly within: readonly string[];
}

/** The compilers of one router. */
export type CompilerSet = ReadonlyMap<string | null, Compiler>;

/** Longer values do not reach an application's own regular expressions, so that the slow ones cannot be exploited. */
const MAX_CHECKED_LENGTH = 256;
const ANY_SEGMENT = ".+";
const DOT_SEGMENT = /(?:^|[/\\])\.\.?(?:[/\\]|$)/;

/** A parameter without a compiler: any text. */
const PLAIN: Compiler = { constraint: null, write: (value) => value, takesRest: false, within: [] };

const INTEGER: Compiler = fixed("\\d+", ["slug"]);

const BUILT_IN: Readonly<Record<string, Compiler>> = {
  int: INTEGER,
  integer: INTEGER,
  string: fixed("[A-Za-z]+"),
  // One dash between words, so that a title has one slug only.
  slug: fixed("[a-z0-9]+(?:-[a-z0-9]+)*"),
  // RFC 9562 §4: hexadecimal digits in either case.
  uuid: fixed("[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"),
  any: { constraint: null, read: restOfPath, write: restOfPath, takesRest: true, within: [] },
};

/** Said of every compiler a router cannot be made with. */
export interface CompilerProblem {
  readonly name: string;
  readonly problem: string;
}

/**
 * The compilers of a router: the built-in ones and the application's own.
 *
 * @param own regular expressions by name, for the whole of a decoded segment of at most 256 characters; anchors are
 * added
 * @param signer signs the values of `signed` parameters; without it there is no such compiler
 * @param report is told of every expression that cannot be used
 */
export function compilerSet(
  own: Readonly<Record<string, RegExp>>,
  signer: ValueSigner | null,
  report: (problem: CompilerProblem) => void,
): CompilerSet {
  const compilers = new Map<string | null, Compiler>([[null, PLAIN], ...Object.entries(BUILT_IN)]);
  if (signer !== null) compilers.set("signed", signedBy(signer));
  for (const [name, expression] of Object.entries(own)) {
    const problem = problemOfOwn(name, expression, compilers);
    if (problem === null) compilers.set(name, matching(expression));
    else report({ name, problem });
  }
  return compilers;
}

/**
 * The compiler of a name, as patterns have it after the colon.
 *
 * @throws `E_INVALID_ROUTE`
 */
export function compilerNamed(name: string | null, compilers: CompilerSet): Compiler {
  const compiler = compilers.get(name);
  if (compiler !== undefined) return compiler;
  if (name === "signed") {
    throw new AshlarError("E_INVALID_ROUTE", "signed parameters need a key; set APP_KEY.");
  }
  const known = [...compilers.keys()].filter((one) => one !== null);
  throw new AshlarError("E_INVALID_ROUTE", `unknown compiler "${name}". ${suggestion(name ?? "", known)}`);
}

function fixed(constraint: string, within: readonly string[] = []): Compiler {
  const whole = new RegExp(`^(?:${constraint})$`);
  return { constraint, write: (value) => (whole.test(value) ? value : null), takesRest: false, within };
}

function matching(expression: RegExp): Compiler {
  const whole = new RegExp(`^(?:${expression.source})$`, expression.flags);
  const check = (value: string) => (value.length <= MAX_CHECKED_LENGTH && whole.test(value) ? value : null);
  return { constraint: ANY_SEGMENT, read: check, write: check, takesRest: false, within: [] };
}

function signedBy(signer: ValueSigner): Compiler {
  // The label keeps a signed parameter from passing for a signed URL, which the same key may sign.
  const label = "parameter:";
  return {
    constraint: ANY_SEGMENT,
    read: (token) => {
      const value = signer.verify(token);
      return value?.startsWith(label) ? value.slice(label.length) : null;
    },
    write: (value) => signer.sign(label + value),
    takesRest: false,
    within: [],
  };
}

/** The rest of a path as one value. One that would lead out of a folder (`a/../b`) is none. */
function restOfPath(value: string): string | null {
  return DOT_SEGMENT.test(value) || value.split("/").includes("") ? null : value;
}

function problemOfOwn(name: string, expression: unknown, compilers: CompilerSet): string | null {
  if (!/^[A-Za-z_]\w*$/.test(name)) return "its name is not made of letters, digits and underscores";
  if (compilers.has(name) || name === "signed") return "there is a built-in compiler of this name";
  if (!(expression instanceof RegExp)) return "it is not a regular expression";
  return problemOfExpression(expression);
}
