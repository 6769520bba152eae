import { type Application, type Feature, namesIn } from "../../boot/index.ts";

/** A single item that a feature adds. */
export interface Addition {
  readonly name: string;
  /** A few words about it; `null` if there is nothing to add. */
  readonly note: string | null;
}

/** Describes one item in a feature's part, by its name. */
type Describe = (feature: Feature, name: string) => string | null;

const NOTES: Readonly<Record<string, Describe>> = {
  checks: ({ checks = [] }, name) => {
    const { findings } = checks.find((one) => one.name === name)!;
    return Object.entries(findings)
      .map(([id, meaning]) => `${id} (${meaning.replace(/\.$/, "")})`)
      .join(", ");
  },
  commands: ({ commands = [] }, name) => commands.find((one) => one.name === name)!.description,
  errors: ({ errors }, name) => String(errors![name]![0]),
  events: ({ events }, name) => {
    const event = Object.entries(events!).find(([one]) => one === name)![1] as { readonly audit: unknown };
    return event.audit === false ? null : "audit line";
  },
  limits: ({ limits }, name) => {
    const { buckets } = Object.entries(limits!).find(([one]) => one === name)![1];
    return buckets
      .map(({ by, attempts, windowSeconds }) => `${attempts} in ${windowSeconds} s by ${by.join(" and ")}`)
      .join(", ");
  },
  proofs: ({ proofs }, name) => proofNote(proofs![name]!),
  tables: ({ tables }, name) => {
    const { columns, pruned, installedBy } = tables![name]!;
    const notes = [columns.join(", ")];
    if (pruned !== null) notes.push(`pruned: ${pruned}`);
    if (installedBy !== undefined) notes.push(`npx ashlar ${installedBy}`);
    return notes.join("; ");
  },
  variables: ({ variables }, name) => {
    const { isSecret = false, value, about = [] } = variables![name]!;
    const notes = [...(isSecret ? ["secret"] : []), ...(value === undefined ? [] : [`usually ${value}`]), ...about];
    return notes.length === 0 ? null : notes.join("; ");
  },
};

/** What proofs are created with here. They must not use services until they are called. */
const NOT_BOOTED = Object.freeze({ container: Object.freeze({}) }) as unknown as Application;

/** A proof's factors and pages; `null` if the proof can't be created without an application. */
function proofNote(make: NonNullable<Feature["proofs"]>[string]): string | null {
  try {
    const { amr, startsLogins = false, page, step } = make(NOT_BOOTED);
    const notes = [amr.length === 0 ? "unknown factors" : `amr ${amr.join(" ")}`];
    if (startsLogins) notes.push("starts logins");
    if (page !== undefined) notes.push(`page ${page}`);
    if (step !== undefined) notes.push(step.page === undefined ? "step" : `step at ${step.page}`);
    return notes.join("; ");
  } catch {
    return null;
  }
}

/** Everything that a feature adds, by part, including parts defined by other features. */
export function additionsOf(feature: Feature): ReadonlyMap<string, readonly Addition[]> {
  const described = [...namesIn(feature)].map(([part, names]): [string, readonly Addition[]] => {
    return [part, names.map((name) => ({ name, note: NOTES[part]?.(feature, name) ?? null }))];
  });
  return new Map(described);
}
