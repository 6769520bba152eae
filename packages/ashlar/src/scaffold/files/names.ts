import { AshlarError } from "../../support/index.ts";

/** A name in the spellings that generated code needs. */
export interface Names {
  /** `OrderLine` */
  readonly pascal: string;
  /** `order-line` */
  readonly kebab: string;
  /** `order_line` */
  readonly snake: string;
  /** `Order line` */
  readonly title: string;
}

/**
 * Splits a name into words and returns all spellings.
 *
 * @param name `OrderLine`, `order-line`, `order_line` or `order line`
 * @throws `E_COMMAND` if it isn't a valid name for a class
 */
export function spell(name: string): Names {
  const words = name
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replaceAll(/([A-Z]+)([A-Z][a-z])/g, "$1 $2")
    .split(/[\s_-]+/)
    .filter((word) => word !== "")
    .map((word) => word.toLowerCase());
  if (words.length === 0 || !words.every((word) => /^[a-z0-9]+$/.test(word)) || /^[0-9]/.test(words[0]!)) {
    throw new AshlarError(
      "E_COMMAND",
      `"${name}" is not a valid class name. Use letters and digits, starting with a letter: OrderLine.`,
    );
  }
  const capitalized = words.map((word) => word[0]!.toUpperCase() + word.slice(1));
  return {
    pascal: capitalized.join(""),
    kebab: words.join("-"),
    snake: words.join("_"),
    title: [capitalized[0]!, ...words.slice(1)].join(" "),
  };
}
