import { stripTypeScriptTypes } from "node:module";
import { isDeepStrictEqual } from "node:util";
import { expect, test } from "vitest";
import { instrument } from "./instrument.ts";

const SOURCE = `
import { text } from "./text.ts";

/** The younger of two. */
export class Ages {
  static readonly limits = ["low", "high"] as const;

  younger(a: number, b: number | undefined): number | null {
    if (a < 18 && b !== undefined) throw new RangeError("No one is as young as that.");
    return b === undefined ? null : Math.min(a, b);
  }

  async store(table: Table, id: string | null): Promise<void> {
    await table
      .where("id", "=", id?.trim()) // the one
      .update({ seen: true, id });
  }

  close(file: File): void {
    try {
      file.close();
    } catch {
      this.report();
      return;
    } finally {
      this.open = false;
      this.files--;
    }
  }
}
`;

const { mutants, code, essence } = instrument("ages.ts", SOURCE, 100);
const listed = mutants.map(({ scope, from, to }) => `${scope}: ${from} → ${to}`);

test("conditions, comparisons, literals and returned values are mutated", () => {
  expect(listed.filter((line) => line.startsWith("Ages.younger"))).toEqual([
    "Ages.younger: a < 18 && b !== undefined → true",
    "Ages.younger: a < 18 && b !== undefined → false",
    "Ages.younger: a < 18 && b !== undefined → a < 18",
    "Ages.younger: a < 18 && b !== undefined → b !== undefined",
    "Ages.younger: a < 18 → (a) <= (18)",
    "Ages.younger: a < 18 → !(a < 18)",
    "Ages.younger: 18 → 19",
    "Ages.younger: b !== undefined → (b) === (undefined)",
    'Ages.younger: throw new RangeError("No one is as young as that."); → ',
    "Ages.younger: b === undefined ? null : Math.min(a, b) → null",
    "Ages.younger: b === undefined → true",
    "Ages.younger: b === undefined → false",
    "Ages.younger: Math.min(a, b) → Math.max(a, b)",
  ]);
});

test("awaits, query conditions, links of chains, properties and elements are removed", () => {
  const statement = 'await table .where("id", "=", id?.trim()) .update({ seen: true, id })';
  expect(listed.filter((line) => line.startsWith("Ages.store"))).toEqual([
    `Ages.store: ${statement}; → `,
    `Ages.store: ${statement} → ${statement.slice("await ".length)}`,
    'Ages.store: table .where("id", "=", id?.trim()) → table',
    'Ages.store: "id" → ""',
    'Ages.store: "=" → ""',
    "Ages.store: id?.trim() → id.trim()",
    "Ages.store: seen: true → ",
    "Ages.store: true → false",
    "Ages.store: id → ",
  ]);
  expect(listed.slice(0, 4)).toEqual([
    'Ages.limits: "low" → ',
    'Ages.limits: "low" → ""',
    'Ages.limits: "high" → ',
    'Ages.limits: "high" → ""',
  ]);
});

test("a `finally` is emptied, and a caught error is rethrown", () => {
  expect(listed.filter((line) => line.startsWith("Ages.close"))).toEqual([
    "Ages.close: { this.open = false; this.files--; } → {}",
    "Ages.close: catch { this.report(); return; } → rethrow",
    "Ages.close: file.close(); → ",
    "Ages.close: this.report(); → ",
    "Ages.close: return; → ",
    "Ages.close: this.open = false; → ",
    "Ages.close: false → true",
    "Ages.close: this.files--; → ",
  ]);
});

test("types, imports, names and error messages are not mutated", () => {
  expect(listed.filter((line) => /text\.ts|RangeError → |Nobody[^;]*→ "/.test(line))).toEqual([]);
});

test("messages of errors and log lines are not mutated, but their codes and data are", () => {
  const source = `
function store(name: string): void {
  this.#logger.warn({ place: "the shop" }, \`\${name} is full.\`);
  container.make("logger").error("It was" + (late ? "late." : "early."));
  throw new KeyError("E_FULL", \`There is no room for \${name} \` + "here.", { headers: { "retry-after": "in time" } });
}
function shown(): string {
  const problem = late ? "It is late." : "late";
  return "Mail to the log";
}`;
  const texts = instrument("store.ts", source, 0).mutants.filter(({ from, to }) => /^["`]/.test(from) && /^"/.test(to));
  expect(texts.map(({ from }) => from)).toEqual([
    '"the shop"',
    '"logger"',
    '"E_FULL"',
    '"in time"',
    '"late"',
    '"Mail to the log"',
  ]);
});

test("every mutant is inserted next to its original, and no line moves", () => {
  expect(code.split("\n")).toHaveLength(SOURCE.split("\n").length);
  const compiled = stripTypeScriptTypes(code.replace(/^import .*$/m, "").replace("export class", "class"));
  let active = -1;
  const made = new Function("__mutant", `${compiled}; return Ages;`)((number: number) => number === active);
  const run = (number: number): unknown[] => {
    active = number;
    const ages = new made();
    const called: unknown[] = [];
    for (const [a, b] of [
      [20, 30],
      [18, 20],
      [20, undefined],
      [10, 5],
      [3, undefined],
    ]) {
      try {
        called.push(ages.younger(a, b));
      } catch (error) {
        called.push((error as Error).message);
      }
    }
    ages.files = 1;
    ages.close({ close: () => called.push("closed") });
    return [...called, ages.open, ages.files, made.limits.length];
  };
  const original = [20, 18, null, "No one is as young as that.", null, "closed", false, 0, 2];
  expect(run(-1)).toEqual(original);
  const same = mutants.filter((_, index) => {
    return isDeepStrictEqual(run(100 + index), original);
  });
  // `store` was not called, the texts in the list are not checked, and nothing makes `close` fail.
  expect(
    same.map(({ scope, from, to }) => `${scope}: ${from} → ${to}`).filter((line) => !/store|limits/.test(line)),
  ).toEqual([
    "Ages.close: catch { this.report(); return; } → rethrow",
    "Ages.close: this.report(); → ",
    "Ages.close: return; → ",
  ]);
});

test("the digest of a source ignores only changes to comments, imports and line breaks", () => {
  const essenceOf = (source: string): string => instrument("ages.ts", source, 0).essence;
  const same = SOURCE.replace("./text.ts", "../words.ts").replace("of two", "of several").replace(" // the one", "");
  expect(essenceOf(same.replace("await table\n      .where", "await table.where"))).toBe(essence);
  expect(essence).toMatch(/^exportclassAges\{static.*\}\}$/);
  expect(essenceOf(SOURCE.replace("this.files--", "this.files++"))).not.toBe(essence);
});

test("a result depends only on the class member or function, and nothing outside of it", () => {
  const changed = instrument("ages.ts", SOURCE.replace("this.files--", "this.files++"), 0).mutants;
  const unitsOf = (made: typeof mutants, scope: string): Set<string> =>
    new Set(made.filter((mutant) => mutant.scope.startsWith(scope)).map((mutant) => mutant.essence));
  expect(unitsOf(changed, "Ages.younger")).toEqual(unitsOf(mutants, "Ages.younger"));
  const scopes = new Set(mutants.map(({ scope }) => scope.split(".").slice(0, 2).join(".")));
  const different = [...scopes].filter((scope) => {
    return [...unitsOf(changed, scope)].join() !== [...unitsOf(mutants, scope)].join();
  });
  expect(different).toHaveLength(1);
  expect([...unitsOf(mutants, "Ages.younger")][0]).toMatch(/^(?:static|async)?\w*younger\(.*\}$/);
});
