import type { Application } from "../../src/boot/index.ts";
import table from "./answers.json" with { type: "json" };

/** The expected answers of every way through a door, for an account in every state. */
export interface DoorTable {
  /** The states, by name. */
  readonly states: Readonly<Record<string, { readonly meaning: string; readonly kinds?: readonly string[] }>>;
  readonly rows: Readonly<Record<string, DoorRow>>;
}

/** One way through a door. */
export interface DoorRow {
  /** The door's name in the manifest of its feature. */
  readonly door: string;
  /** What the visitor does. */
  readonly about: string;
  /** By the name of the state: what the visitor can open afterwards, and the response. */
  readonly answers: Readonly<Record<string, string>>;
}

/** What the features of an application declare. */
export interface DoorRegistry {
  readonly doors: readonly string[];
  /** The steps of logins, with any guard. */
  readonly steps: readonly string[];
  /** The kinds of authenticators. */
  readonly kinds: readonly string[];
}

/** Written by hand; `matrix.test.ts` compares it with a generated application. */
export const TABLE: DoorTable = table as DoorTable;

/** The doors, steps and kinds of an application. */
export function registryOf({ container, features }: Application): DoorRegistry {
  const auth = container.make("auth");
  return {
    doors: features.flatMap(({ feature }) => Object.keys(feature.doors ?? {})),
    steps: [...new Set(auth.names.flatMap((guard) => auth.stepsOf(guard)).map(({ name }) => name))],
    kinds: container.make("authenticators").kinds,
  };
}

/** What a table lacks, in sentences: every door, step, kind and state needs its cells. */
export function gapsIn({ rows, states }: DoorTable, { doors, steps, kinds }: DoorRegistry): readonly string[] {
  const tried = new Set(Object.values(rows).map(({ door }) => door));
  const covered = new Set(Object.values(states).flatMap((state) => state.kinds ?? []));
  return [
    ...doors.filter((door) => !tried.has(door)).map((door) => `No row tries the door "${door}".`),
    ...steps.filter((step) => !tried.has(step)).map((step) => `No row passes the step "${step}".`),
    ...kinds.filter((kind) => !covered.has(kind)).map((kind) => `No state is about the authenticator "${kind}".`),
    ...Object.entries(rows).flatMap(([name, { door, answers }]) => [
      ...(doors.includes(door) ? [] : [`The row "${name}" tries the door "${door}", which no feature declares.`]),
      ...Object.keys(states)
        .filter((state) => !Object.hasOwn(answers, state))
        .map((state) => `The row "${name}" has no answer for the state "${state}".`),
      ...Object.keys(answers)
        .filter((state) => !Object.hasOwn(states, state))
        .map((state) => `The row "${name}" has an answer for the state "${state}", which doesn't exist.`),
    ]),
  ];
}
