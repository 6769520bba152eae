import { styleText } from "node:util";

/** Where log lines go. */
export interface LogDestination {
  write(line: string): void;
}

interface Entry {
  readonly level: string;
  readonly time: string;
  readonly msg?: string;
  readonly err?: { readonly stack?: string; readonly message?: string };
  readonly [name: string]: unknown;
}

const COLOURS = { trace: "gray", debug: "gray", info: "green", warn: "yellow", error: "red", fatal: "red" } as const;
const SHOWN_ELSEWHERE: ReadonlySet<string> = new Set(["level", "time", "msg", "err", "app"]);

/**
 * Turns the log's JSON lines into readable ones: time, level, message and data, followed by an error's stack.
 *
 * @param output gets the lines, in color if it is a terminal
 */
export function prettyLines(output: NodeJS.WritableStream): LogDestination {
  return {
    write(line: string): void {
      output.write(prettyLine(JSON.parse(line) as Entry, output));
    },
  };
}

function prettyLine(entry: Entry, stream: NodeJS.WritableStream): string {
  const colour = COLOURS[entry.level as keyof typeof COLOURS] ?? "gray";
  const paint = (style: Parameters<typeof styleText>[0], text: string) => styleText(style, text, { stream });
  const data = Object.entries(entry)
    .filter(([name]) => !SHOWN_ELSEWHERE.has(name))
    .map(([name, value]) => `${printable(name)}=${shownValue(value)}`);
  const head = [paint("gray", entry.time.slice(11, 19)), paint(colour, entry.level), printable(entry.msg ?? "")];
  const line = [...head.filter((part) => part !== ""), ...data.map((part) => paint("gray", part))].join(" ");
  const stack = entry.err?.stack ?? entry.err?.message;
  return stack === undefined ? `${line}\n` : `${line}\n${stack.replaceAll(/^/gm, "  ")}\n`;
}

/** A value, in quotes if it could be mistaken for several values. */
function shownValue(value: unknown): string {
  const isPlain = typeof value === "string" && /^[^\s="\\]+$/u.test(value);
  return printable(isPlain ? value : JSON.stringify(value));
}

/** Security: the log may contain text from a client, and a terminal interprets control characters. */
function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the check is for control characters.
  return text.replaceAll(/[\x00-\x1f\x7f-\x9f]/g, (character) => {
    return `\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}`;
  });
}
