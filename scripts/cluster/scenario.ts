/** A row of figures, by the titles of their columns. */
export type Row = Readonly<Record<string, string | number>>;

/** What a scenario has shown. */
export interface Outcome {
  /** The versions of the programs that took part, by their names. */
  readonly versions: Readonly<Record<string, string>>;
  /** The rows of its table. */
  readonly rows: readonly Row[];
  /** What should have been so and was not; none if all is well. */
  readonly failures: readonly string[];
}

/** Something that is tried on real processes of this machine: `npm run test:cluster -- <name>`. */
export interface Scenario {
  readonly name: string;
  /** Its heading in `docs/operations.md`, and a sentence or two about what is done and counted. */
  readonly title: string;
  readonly about: string;
  /** How long it may take, in seconds. Then it fails. */
  readonly seconds: number;
  /** Whatever it starts is given to `undoing`, and ends with it. */
  run(): Promise<Outcome>;
}
