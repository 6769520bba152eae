import { AshlarError, suggestion } from "../../support/index.ts";
import type { OwnCompilers, ValueTest } from "./own-compilers.ts";
import "../errors.ts";

/** What a parameter's values look like, and how they appear in a URL. */
export interface Compiler {
  /** Restricts the segment as it appears in the URL, before decoding; a regular expression without anchors. */
  readonly constraint: string | null;
  /**
   * Converts a decoded segment to the handler's value, or returns `null` if the route does not match. If omitted, the
   * handler gets the segment itself.
   */
  readonly read?: (value: string) => string | null;
  /** Converts a value for a URL, before encoding, or returns `null` if the value is not allowed. */
  readonly write: (value: string) => string | null;
  /** Whether it takes the rest of the path, slashes included. */
  readonly takesRest: boolean;
  /** Other compilers that match everything this one matches. */
  readonly within: readonly string[];
}

/** The compilers of one router. */
export type CompilerSet = ReadonlyMap<string | null, Compiler>;

const ANY_SEGMENT = ".+";
const DOT_SEGMENT = /(?:^|[/\\])\.\.?(?:[/\\]|$)/;

/** A parameter without a compiler: any text. */
const PLAIN: Compiler = { constraint: null, write: (value) => value, takesRest: false, within: [] };

const INTEGER: Compiler = fixed("\\d+", ["slug"]);

const BUILT_IN: Readonly<Record<string, Compiler>> = {
  int: INTEGER,
  integer: INTEGER,
  string: fixed("[A-Za-z]+"),
  // There is exactly one dash between words, to give each title a single slug.
  slug: fixed("[a-z0-9]+(?:-[a-z0-9]+)*"),
  // RFC 9562 §4: hexadecimal digits in either case.
  uuid: fixed("[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"),
  any: { constraint: null, read: restOfPath, write: restOfPath, takesRest: true, within: [] },
};

/** The error for a compiler that cannot be used. */
export interface CompilerProblem {
  readonly name: string;
  readonly problem: string;
}

/**
 * Returns the compilers of a router: the built-in ones and the application's own.
 *
 * @param signer signs the values of `signed` parameters; without it, that compiler is not available
 * @param report called for every compiler that cannot be used
 */
export function compilerSet(
  own: OwnCompilers,
  signer: ValueSigner | null,
  report: (problem: CompilerProblem) => void,
): CompilerSet {
  const compilers = new Map<string | null, Compiler>([[null, PLAIN], ...Object.entries(BUILT_IN)]);
  if (signer !== null) compilers.set("signed", signedBy(signer));
  for (const [name, fits] of own) {
    const problem = problemOfName(name, compilers);
    if (problem !== null) report({ name, problem });
    else if (typeof fits === "string") report({ name, problem: fits });
    else compilers.set(name, matching(fits));
  }
  return compilers;
}

/**
 * Returns the compiler with a name, which patterns have after the colon.
 *
 * @throws `E_INVALID_ROUTE`
 */
export function compilerNamed(name: string | null, compilers: CompilerSet): Compiler {
  const compiler = compilers.get(name);
  if (compiler !== undefined) return compiler;
  if (name === "signed") {
    throw new AshlarError("E_INVALID_ROUTE", "signed parameters need a key. Set APP_KEY.");
  }
  const known = [...compilers.keys()].filter((one) => one !== null);
  throw new AshlarError("E_INVALID_ROUTE", `unknown compiler "${name}". ${suggestion(name ?? "", known)}`);
}

function fixed(constraint: string, within: readonly string[] = []): Compiler {
  const whole = new RegExp(`^(?:${constraint})$`);
  return { constraint, write: (value) => (whole.test(value) ? value : null), takesRest: false, within };
}

function matching(fits: ValueTest): Compiler {
  const check = (value: string) => (fits(value) ? value : null);
  return { constraint: ANY_SEGMENT, read: check, write: check, takesRest: false, within: [] };
}

function signedBy(signer: ValueSigner): Compiler {
  // Because of the label, a signed parameter isn't accepted as a signed URL, even if both are signed with the same key.
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

/** The rest of a path as one value. A path with segments that lead upward (`a/../b`) does not match. */
function restOfPath(value: string): string | null {
  return DOT_SEGMENT.test(value) || value.split("/").includes("") ? null : value;
}

function problemOfName(name: string, compilers: CompilerSet): string | null {
  if (!/^[A-Za-z_]\w*$/.test(name)) return "its name is not made of letters, digits and underscores";
  if (compilers.has(name) || name === "signed") return "there is a built-in compiler of this name";
  return null;
}

/** Signs and verifies values, for signed parameters and signed URLs. `Signer` implements it. */
export interface ValueSigner {
  /** Returns a URL-safe token that contains the value. */
  sign(value: string): string;
  /** Returns a token's value; `null` if the token was not made by `sign`, or was altered. */
  verify(token: string): string | null;
}
