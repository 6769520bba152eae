import { basename } from "node:path";
import type { Finding } from "./findings.ts";

export interface Baseline {
  /** Phrases that are justified where they are: the file, the phrase and the reason. They aren't counted. */
  readonly justified: readonly { readonly file: string; readonly phrase: string; readonly reason: string }[];
  /** The limit of each other file. */
  readonly files: Readonly<Record<string, number>>;
}

type Found = ReadonlyMap<string, readonly Finding[]>;

/** The findings that nothing justifies. */
function counted({ justified }: Baseline, path: string, findings: readonly Finding[]): Finding[] {
  return findings.filter(({ text }) => {
    return !justified.some(({ file, phrase }) => file === path && phrase === text.toLowerCase());
  });
}

/** A line for each phrase in a file that exceeds its limit, and for each justification whose phrase is gone. */
export function problemsOf(baseline: Baseline, found: Found): string[] {
  const stale = baseline.justified.filter(({ file, phrase }) => {
    return !found.get(file)?.some(({ text }) => text.toLowerCase() === phrase);
  });
  const excess = [...found].flatMap(([path, findings]) => {
    const left = counted(baseline, path, findings);
    if (left.length <= (baseline.files[path] ?? 0)) return [];
    return left.map(({ line, text, instead }) => `${path}:${line}: reads as translated: "${text}". Write: ${instead}.`);
  });
  return [
    ...stale.map(({ file, phrase }) => `baseline.json justifies "${phrase}" in ${file}, where it is gone.`),
    ...excess,
  ];
}

/** The baseline with each limit lowered to the number found. A renamed file takes over the limit of a file that is gone. */
export function lowered(baseline: Baseline, found: Found): Baseline {
  const files: Record<string, number> = {};
  const gone = Object.entries(baseline.files).filter(([path]) => !found.has(path));
  for (const [path, findings] of [...found].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const count = counted(baseline, path, findings).length;
    const moved = gone.find(([old]) => basename(old) === basename(path));
    const allowed = baseline.files[path] ?? moved?.[1] ?? 0;
    if (Math.min(count, allowed) > 0) files[path] = Math.min(count, allowed);
  }
  return { justified: baseline.justified, files };
}
