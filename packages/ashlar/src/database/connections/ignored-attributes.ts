/** The maximum number of attributes that are reported per model: their names can come from requests. */
const LIMIT = 100;

/** Receives a sentence about attributes that a model ignored, with advice. */
export type ReportIgnoredAttributes = (sentence: string) => void;

/** The columns that `fill` may set (`null`: all), and those that it never sets. */
interface Settable {
  readonly fillable: ReadonlySet<string> | null;
  readonly guarded: ReadonlySet<string>;
}

/** Reports the attributes that `fill` and `create` ignore, each once per model. */
export class IgnoredAttributes {
  readonly #report: ReportIgnoredAttributes;
  readonly #reported = new WeakMap<object, Set<string>>();

  constructor(report: ReportIgnoredAttributes) {
    this.#report = report;
  }

  /** Records that a model ignored values for these attributes, and reports those that it has not ignored before. */
  add(modelClass: { readonly name: string }, { fillable, guarded }: Settable, names: readonly string[]): void {
    const reported = this.#reported.get(modelClass) ?? new Set();
    this.#reported.set(modelClass, reported);
    const news = names.filter((name) => !reported.has(name)).slice(0, LIMIT - reported.size);
    for (const name of news) reported.add(name);
    const { name: model } = modelClass;
    const { unlisted = [], reserved = [] } = Object.groupBy(news, (name) =>
      fillable === null || guarded.has(name) ? "reserved" : "unlisted",
    );
    if (unlisted.length > 0) {
      const problem = `create() and fill() of ${model} ignored values for ${listOf(unlisted)}, not in ${model}.fillable.`;
      this.#report(`${problem} Add the columns there, or leave the values out.`);
    }
    if (reserved.length > 0) {
      const problem = `create() and fill() of ${model} ignored values for ${listOf(reserved)}: guarded, or the primary key.`;
      this.#report(`${problem} Set them with the model's own methods, or leave the values out.`);
    }
  }
}

function listOf(names: readonly string[]): string {
  return names.map((name) => JSON.stringify(name)).join(", ");
}
