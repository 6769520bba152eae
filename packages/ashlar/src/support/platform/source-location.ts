import { join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { PACKAGE_FOLDER } from "./package-folder.ts";

/** The folder of the framework's own code, source or built. Stack frames in it are skipped. */
const FRAMEWORK = ["src", "dist"].map((folder) => join(PACKAGE_FOLDER, folder) + sep);
const FRAMEWORK_TEST = /\.test\.[jt]s$/;
const FRAMES_LOOKED_AT = 16;

/** A location in the application's source. Creating it costs a stack capture; the text is created on demand. */
export class SourceLocation {
  readonly #trace: { readonly stack?: string };
  #text: string | undefined;

  /** @param below the framework function that was called; the stack starts with its caller */
  constructor(below: (...args: never[]) => unknown) {
    const trace: { stack?: string } = {};
    const limit = Error.stackTraceLimit;
    // A plain assignment would throw under `--frozen-intrinsics`. The limit is restored afterwards.
    Reflect.set(Error, "stackTraceLimit", FRAMES_LOOKED_AT);
    Error.captureStackTrace(trace, below);
    Reflect.set(Error, "stackTraceLimit", limit);
    this.#trace = trace;
  }

  /**
   * The location as `routes/web.ts:12`, relative to the working directory if it is inside; `unknown` if the stack
   * contains no such location.
   */
  toString(): string {
    this.#text ??= placeIn(String(this.#trace.stack ?? ""));
    return this.#text;
  }

  /** Only the file, as in {@link SourceLocation.toString}; `null` if the stack contains no such location. */
  get file(): string | null {
    const [, file] = /^(.*):\d+$/.exec(this.toString()) ?? [];
    return file ?? null;
  }
}

/** The first frame of a stack that is neither in the framework nor in Node, as `file:line`. */
export function placeIn(stack: string): string {
  for (const line of stack.split("\n")) {
    const frame = parseFrame(line);
    if (frame === null || isFramework(frame.file)) continue;
    return `${shorten(frame.file)}:${frame.line}`;
  }
  return "unknown";
}

/**
 * Where an error comes from: the location that Node puts before the stack if it couldn't parse a source file, or else
 * the first frame in the application; `null` if there is neither.
 */
export function placeOf(error: unknown): string | null {
  const stack = error instanceof Error ? String(error.stack ?? "") : "";
  const [, unread, line] = /^((?:file:|\/|[A-Za-z]:[\\/]).*):(\d+)\n/.exec(stack) ?? [];
  const file = unread === undefined ? null : fileOf(unread);
  if (file !== null) return `${shorten(file)}:${line}`;
  const place = placeIn(stack);
  return place === "unknown" ? null : place;
}

function parseFrame(text: string): { readonly file: string; readonly line: string } | null {
  const line = text.trim();
  if (!line.startsWith("at ")) return null;
  // `at name (place)`, `at place`, or `at async place`; a path may itself contain spaces and parentheses.
  const named = line.endsWith(")") ? line.indexOf(" (") : -1;
  const place = named === -1 ? line.slice(3).replace(/^async /, "") : line.slice(named + 2, -1);
  const parts = /^(.*):(\d+):\d+$/.exec(place);
  if (parts === null) return null;
  const file = fileOf(parts[1]!);
  return file === null ? null : { file, line: parts[2]! };
}

function fileOf(place: string): string | null {
  if (!place.startsWith("file:")) return /^(?:\/|[A-Za-z]:[\\/])/.test(place) ? place : null;
  // Removes the query, which a development server adds to distinguish versions of reloaded modules.
  return fileURLToPath(place);
}

function isFramework(file: string): boolean {
  return FRAMEWORK.some((folder) => file.startsWith(folder)) && !FRAMEWORK_TEST.test(file);
}

function shorten(file: string): string {
  const path = relative(process.cwd(), file);
  return (path.startsWith("..") ? file : path).replaceAll("\\", "/");
}
