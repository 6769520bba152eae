/** A row of figures, by column title. */
export type Row = Readonly<Record<string, string | number>>;

/** A scenario's results. */
export interface Outcome {
  /** The versions of the programs involved, by name. */
  readonly versions: Readonly<Record<string, string>>;
  /** The rows of its table. */
  readonly rows: readonly Row[];
  /** The expectations that weren't met; empty if there are no problems. */
  readonly failures: readonly string[];
}

/** A test with real processes on this machine: `npm run test:cluster -- <name>`. */
export interface Scenario {
  readonly name: string;
  /** Its heading in `docs/operations.md`, and a sentence or two about what is done and counted. */
  readonly title: string;
  readonly about: string;
  /** The time limit, in seconds, after which the scenario fails. */
  readonly seconds: number;
  /** Everything it starts is registered with `undoing`, and ends with the scenario. */
  run(): Promise<Outcome>;
}
