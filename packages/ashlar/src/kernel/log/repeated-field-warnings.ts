import { type FieldWarnings, type FormFields, type RouteInfo, repeatedFields, routeLabel } from "../../http/index.ts";
import type { Logger } from "../logger.ts";

/** The maximum number of names to warn about, because clients choose them. */
const MAX_WARNINGS = 100;

/** Warns once about each field that was sent more than once, although it isn't named like a list. */
export class RepeatedFieldWarnings implements FieldWarnings {
  readonly #logger: Logger;
  readonly #warned = new Set<string>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  look(fields: FormFields, route: () => RouteInfo | null): void {
    const names = repeatedFields(fields).filter((name) => !this.#warned.has(name));
    if (names.length === 0) return;
    // The route isn't known yet, because a form's `__method`, which is one of these fields, may determine it.
    queueMicrotask(() => {
      for (const name of names) this.#warn(name, route());
    });
  }

  #warn(field: string, route: RouteInfo | null): void {
    if (this.#warned.size === MAX_WARNINGS || this.#warned.has(field)) return;
    this.#warned.add(field);
    const place = route === null ? {} : { route: routeLabel(route) };
    this.#logger.warn(
      { field, ...place },
      `The field "${field}" was sent more than once, and only its last value counts. If it is meant to be a list, as with ` +
        `<select multiple>, add brackets to its name: name="${field}[]".`,
    );
  }
}
