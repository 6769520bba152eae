import type { FilledSecrets } from "../scaffold/index.ts";

/** Says which secrets were written to `.env`, by their names; `null` if none were. */
export function describeSecrets({ fromExample, written }: FilledSecrets): string | null {
  if (written.length === 0) return null;
  const done = `${written.join(" and ")} ${written.length === 1 ? "was" : "were"} written to`;
  return fromExample ? `Made .env from .env.example. ${done} it.` : `${done} .env.`;
}
