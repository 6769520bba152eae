import { AshlarError, isPrototypeName } from "../../support/index.ts";
import { type Compiler, type CompilerSet, compilerNamed } from "./compilers.ts";
import { encodeLiteral } from "./path-encoding.ts";
import "../errors.ts";

/** A parameter of a pattern: `@id:int`, `?page`. */
export interface PatternParameter {
  readonly name: string;
  /** The compiler's name, after the colon; `null` if there isn't one. */
  readonly compilerName: string | null;
  readonly compiler: Compiler;
  readonly optional: boolean;
}

/** One segment of a pattern: literal text, encoded as in a request's path, or a parameter. */
export type PatternSegment = string | PatternParameter;

/** A parsed pattern. */
export interface RoutePattern {
  /** In normal form: one slash before each segment, no trailing slash. */
  readonly text: string;
  readonly segments: readonly PatternSegment[];
  readonly parameters: readonly PatternParameter[];
}

const PARAMETER = /^[@?]([A-Za-z_]\w*)(?::([A-Za-z_]\w*))?$/;
/** Every character that could have a special meaning in rou3's syntax. */
const SPECIAL = /[^\w%~./-]/g;

/**
 * Parses a pattern.
 *
 * @param text `/orders/@id:int`, prefixes included
 * @throws `E_INVALID_ROUTE` with the first problem that is found
 */
export function parsePattern(text: string, compilers: CompilerSet): RoutePattern {
  if (typeof text !== "string") throw invalid(`the path is ${text === null ? "null" : `a ${typeof text}`}, not text.`);
  const path = text.replace(/^\//, "").replace(/\/$/, "");
  const parts = path === "" ? [] : path.split("/");
  if (parts.includes("")) throw invalid("the path has two slashes in a row.");
  const segments = parts.map((part) => parseSegment(part, compilers));
  const parameters = segments.filter((segment) => typeof segment !== "string");
  checkOrder(segments);
  checkNames(parameters);
  return { text: `/${parts.join("/")}`, segments, parameters };
}

/**
 * Returns the rou3 patterns for one of our patterns: the complete one, and one for each optional parameter that may be
 * missing. An optional parameter can only be missing together with those after it.
 */
export function segmentsByLength(pattern: RoutePattern): readonly (readonly PatternSegment[])[] {
  const required = pattern.segments.filter((segment) => typeof segment === "string" || !segment.optional).length;
  const lengths = Array.from({ length: pattern.segments.length - required + 1 }, (_, extra) => required + extra);
  return lengths.reverse().map((length) => pattern.segments.slice(0, length));
}

/** Writes segments in rou3's syntax, escaping every character that has a special meaning in it. */
export function toRou3(segments: readonly PatternSegment[]): string {
  return `/${segments.map(segmentToRou3).join("/")}`;
}

function segmentToRou3(segment: PatternSegment): string {
  if (typeof segment === "string") return segment.replace(SPECIAL, "\\$&");
  if (segment.compiler.takesRest) return `**:${segment.name}`;
  return segment.compiler.constraint === null ? `:${segment.name}` : `:${segment.name}(${segment.compiler.constraint})`;
}

function parseSegment(text: string, compilers: CompilerSet): PatternSegment {
  if (!/^[@?]/.test(text)) return encodeLiteral(text);
  const parts = PARAMETER.exec(text);
  if (parts === null) {
    throw invalid(
      `"${text}" is not a parameter; it must fill a segment and be written @name, ?name or @name:compiler, ` +
        "with letters, digits and underscores.",
    );
  }
  const name = parts[1]!;
  if (isPrototypeName(name)) throw invalid(`a parameter cannot be named "${name}".`);
  const compilerName = parts[2] ?? null;
  const compiler = compilerNamed(compilerName, compilers);
  return { name, compilerName, compiler, optional: text.startsWith("?") };
}

function checkOrder(segments: readonly PatternSegment[]): void {
  const firstOptional = segments.findIndex((segment) => typeof segment !== "string" && segment.optional);
  const after = segments.slice(firstOptional).find((segment) => typeof segment === "string" || !segment.optional);
  if (firstOptional !== -1 && after !== undefined) {
    throw invalid("an optional parameter must come last; only other optional parameters may follow it.");
  }
  if (segments.slice(0, -1).some((segment) => typeof segment !== "string" && segment.compiler.takesRest)) {
    throw invalid("a parameter of the compiler any takes the rest of the path; nothing can follow it.");
  }
}

function checkNames(parameters: readonly PatternParameter[]): void {
  const seen = new Set<string>();
  for (const { name } of parameters) {
    if (seen.has(name)) throw invalid(`two parameters are named "${name}".`);
    seen.add(name);
  }
}

function invalid(problem: string): AshlarError {
  return new AshlarError("E_INVALID_ROUTE", problem);
}
