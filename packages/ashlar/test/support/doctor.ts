import { cp, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import type { Finding } from "../../src/cli/doctor/finding.ts";
import type { DoctorReport } from "../../src/cli/doctor/report.ts";
import { ashlar } from "./command-line.ts";
import { COMMAND, execute } from "./generated-application.ts";
import { startMailServer } from "./mail-server.ts";

/** The report of `ashlar doctor --json`. */
export async function doctor(root: string, ...args: string[]): Promise<DoctorReport> {
  const { code, output } = await ashlar(root, "doctor", "--json", ...args);
  const report = JSON.parse(output) as DoctorReport;
  expect(code).toBe(report.errors > 0 ? 1 : 0);
  return report;
}

/** The ids of a report, sorted. */
export function idsOf({ findings }: Pick<DoctorReport, "findings">): string[] {
  return findings.map(({ id }) => id).sort();
}

let copies = 0;

/**
 * Copies an application to a folder next to it. Otherwise, the process would use its cached modules of changed files.
 *
 * @returns the copy's folder
 */
export async function copyOf(root: string): Promise<string> {
  const copy = join(dirname(root), `copy-${++copies}`);
  await cp(root, copy, { recursive: true, preserveTimestamps: true });
  return copy;
}

/** Sets a variable in an application's `.env`. */
export async function setVariables(root: string, ...lines: readonly string[]): Promise<void> {
  const file = join(root, ".env");
  let text = await readFile(file, "utf8");
  for (const line of lines) {
    const name = line.slice(0, line.indexOf("="));
    const known = new RegExp(`^${name}=.*$`, "m");
    text = known.test(text) ? text.replace(known, () => line) : `${text}${line}\n`;
  }
  await writeFile(file, text);
}

/** Sets what an application needs in production. */
export async function completeForProduction(root: string): Promise<void> {
  const { port } = await startMailServer();
  await setVariables(
    root,
    ...["APP_URL=https://shop.example", "TRUSTED_PROXIES=loopback", "HOST=127.0.0.1"],
    ...["MAIL_FROM=no-reply@shop.example", "SMTP_HOST=127.0.0.1", `SMTP_PORT=${port}`],
  );
}

/** Follows a finding to the letter: edits the file that it names, and runs its command. */
export async function mend(root: string, { file, line, remedy }: Finding): Promise<void> {
  if (remedy.remove !== null) await removeText(root, remedy.file!, line!, remedy.remove);
  if (remedy.lines.length > 0) await addLines(root, remedy.file!, remedy.lines);
  for (const command of remedy.run?.split(" && ") ?? []) await run(root, command);
  const [, from, to, path] =
    /^Move the line from ROUTES of (\S+) to ROUTES of ([\w/]+\.ts)(?:, which .* write (\S+) there)?\./.exec(
      remedy.note ?? "",
    ) ?? [];
  if (from === undefined) return;
  expect(file).toBe(from);
  const lines = (await readFile(join(root, from), "utf8")).split("\n");
  const [moved] = lines.splice(line! - 1, 1);
  await writeFile(join(root, from), lines.join("\n"));
  await addLines(root, to!, [
    "// in ROUTES:",
    path === undefined ? moved!.trim() : moved!.trim().replace(/"[^"]*"/, `"${path}"`),
  ]);
}

async function run(root: string, command: string): Promise<void> {
  const [, args] = /^npx ashlar (.+)$/.exec(command) ?? [];
  if (args === undefined) {
    expect(await execute(root, "sh", ["-c", command])).toMatchObject({ code: 0 });
    return;
  }
  // This process has already loaded and shut down the application that the command boots, so the command gets its own
  // process.
  const needsProcess = args.startsWith("users:");
  const ran = needsProcess
    ? execute(root, process.execPath, [COMMAND, ...args.split(" ")])
    : ashlar(root, ...args.split(" "));
  expect(await ran).toMatchObject({ code: 0 });
}

async function removeText(root: string, file: string, line: number, text: string): Promise<void> {
  const lines = (await readFile(join(root, file), "utf8")).split("\n");
  expect(lines[line - 1]).toContain(text);
  lines[line - 1] = lines[line - 1]!.replace(text, "");
  await writeFile(join(root, file), lines.join("\n"));
}

async function addLines(root: string, file: string, lines: readonly string[]): Promise<void> {
  if (file === ".env") return await setVariables(root, ...lines);
  const path = join(root, file);
  let text = await readFile(path, "utf8").catch(() => "");
  if (!file.endsWith(".ts")) return await writeFile(path, `${text}${lines.join("\n")}\n`);
  let place: string | null = null;
  for (const line of lines) {
    const [, mixins] = /^\/\/ add the mixin to the class: (compose\(.+\))$/.exec(line) ?? [];
    if (mixins !== undefined) text = text.replace(/compose\(.*\)/, mixins);
    else if (line.startsWith("//")) place = line;
    else if (line.startsWith("import ")) text = imported(text, line);
    else text = inserted(text, place, line);
  }
  await writeFile(path, text);
}

/** Adds an import to a text, and leaves the others unchanged. */
function imported(text: string, line: string): string {
  const [, names, from] = /^import \{ (.+) \} from (".+");$/.exec(line)!;
  const imports = text.match(/^import [\s\S]*?from ".+";$/gm) ?? [];
  const missing = names!.split(", ").filter((name) => !imports.some((one) => new RegExp(`\\b${name}\\b`).test(one)));
  return missing.length === 0 ? text : `import { ${missing.join(", ")} } from ${from};\n${text}`;
}

/** Adds a line to a text at the place that a comment describes: `// in PROVIDERS, after EventProvider:`. */
function inserted(text: string, place: string | null, line: string): string {
  if (place === null) return `${text}${line}\n`;
  const [, path, more = ""] = /^\/\/ in ([\w.() ]+?)(?:, (.+?))?:/.exec(place) ?? [];
  expect(path).toBeDefined();
  const names = path!.replace("()", "").split(".");
  const [, property] = /^("?[\w.]+"?): /.exec(line) ?? [];
  let at = 0;
  for (const name of names) {
    // The list or block to add to begins at the end of a line: `export const PROVIDERS = [`.
    const found = new RegExp(`\\b${name}\\b[^\\n]*[[{]\\n`, "g");
    found.lastIndex = at;
    expect(found.test(text), `${name} in:\n${text}`).toBe(true);
    at = found.lastIndex;
  }
  const head = text.slice(0, at);
  let rest = text.slice(at);
  if (property !== undefined) rest = rest.replace(new RegExp(`^ *${property}: .*\\n`, "m"), "");
  const [, order, other] = /^(after|before) (\w+)/.exec(more) ?? [];
  if (order === undefined || other === "the") return `${head}${line}\n${rest}`;
  return (
    head + rest.replace(new RegExp(`\\b${other},`), order === "after" ? `${other},\n${line}` : `${line}\n${other},`)
  );
}
