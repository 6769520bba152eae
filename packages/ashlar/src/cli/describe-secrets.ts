import type { FilledSecrets } from "../scaffold/index.ts";

/** Describes which secrets were written to `.env`, by name; `null` if none were. */
export function describeSecrets({ fromExample, written }: FilledSecrets): string | null {
  if (written.length === 0) return null;
  const names = [...written.slice(0, -2), written.slice(-2).join(" and ")].join(", ");
  const done = `${names} ${written.length === 1 ? "was" : "were"} written to`;
  return fromExample ? `Created .env from .env.example. ${done} it.` : `${done} .env.`;
}
