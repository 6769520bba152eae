import type { Runtime } from "../../packages/ashlar/test/support/runtimes.ts";

/** The choices that an application of the matrix is created and run with. */
export interface Choices {
  readonly pages: boolean;
  /** Accounts without pages; never combined with pages. */
  readonly json: boolean;
  readonly registration: boolean;
  readonly verification: boolean;
  readonly api: boolean;
  readonly database: "sqlite" | "postgres" | "mariadb";
  readonly language: "en" | "de";
  readonly manager: "npm" | "pnpm";
  readonly node: Runtime;
}

const BOTH = [true, false];

/** All of the generator's options, except how the application is installed. */
const APPLICATIONS: readonly Omit<Choices, "manager" | "node">[] = [
  { pages: true, json: false },
  { pages: false, json: true },
  { pages: false, json: false },
].flatMap((form) => {
  const either = form.pages || form.json ? BOTH : [true];
  return either.flatMap((registration) =>
    either.flatMap((verification) =>
      BOTH.flatMap((api) =>
        (["sqlite", "postgres", "mariadb"] as const).flatMap((database) =>
          (["en", "de"] as const).map((language) => ({ ...form, registration, verification, api, database, language })),
        ),
      ),
    ),
  );
});

type Way = Pick<Choices, "manager" | "node">;

/**
 * The combinations to check: every application in every way of running it, or once each. If once, the ways are spread so
 * that every pair of choices occurs together.
 */
export function combinations(runtimes: readonly Runtime[], all: boolean): Choices[] {
  const ways: readonly Way[] = runtimes.flatMap((node) =>
    (["npm", "pnpm"] as const).map((manager) => ({ manager, node })),
  );
  if (all) return APPLICATIONS.flatMap((application) => ways.map((way) => ({ ...application, ...way })));
  const covered = new Set<string>();
  const used = new Map<Way, number>();
  return APPLICATIONS.map((application) => {
    const worth = (way: Way): number => pairsOf({ ...application, ...way }).filter((pair) => !covered.has(pair)).length;
    // The way with the most new pairs; if there are several, the least used one.
    const [best] = ways.toSorted((a, b) => worth(b) - worth(a) || (used.get(a) ?? 0) - (used.get(b) ?? 0));
    used.set(best!, (used.get(best!) ?? 0) + 1);
    const choices = { ...application, ...best! };
    for (const pair of pairsOf(choices)) covered.add(pair);
    return choices;
  });
}

/** Every pair of a combination's choices, as text. */
export function pairsOf({ node, ...others }: Choices): string[] {
  const parts = Object.entries({ ...others, node: node.version }).map(([name, value]) => `${name}=${value}`);
  return parts.flatMap((one, index) => parts.slice(index + 1).map((other) => `${one} ${other}`));
}

/** A combination's name in one line: its features, and how it is run. */
export function nameOf(choices: Choices): string {
  const { pages, json, registration, verification, api, database, language, manager, node } = choices;
  const accounts =
    pages || json
      ? [
          pages ? "pages" : "json",
          ...(registration ? ["registration"] : []),
          ...(verification ? ["verification"] : []),
        ].join("+")
      : "no pages";
  return [accounts, api ? "api" : "no api", database, language, manager, `Node ${node.version}`].join(", ");
}
