import { expect, test } from "vitest";
import { importsIn, takenFromOthers } from "./imports.ts";

test.each<[text: string, names: string[], types?: string[]]>([
  ['import { a, type B, c as d } from "./x.ts";', ["a", "B", "c"], ["B"]],
  ['import type { A, B } from "./x.ts";', ["A", "B"], ["A", "B"]],
  ['import {\n  a,\n  // Why b is needed.\n  b,\n} from "./x.ts";', ["a", "b"]],
  ['export { a as b } from "./x.ts";', ["a"]],
  ['export type { A } from "./x.ts";', ["A"], ["A"]],
  ['import X from "./x.ts";', ["default"]],
  ['import type X from "./x.ts";', ["default"], ["default"]],
  ['import X, { a } from "./x.ts";', ["default", "a"]],
  ['import X, * as all from "./x.ts";', ["default", "*"]],
  ['import * as all from "./x.ts";', ["*"]],
  ['import type * as all from "./x.ts";', ["*"], ["*"]],
  ['export * from "./x.ts";', ["*"]],
  ['export * as all from "./x.ts";', ["*"]],
  ['export type * from "./x.ts";', ["*"], ["*"]],
  ['const { a } = await import("./x.ts");', ["*"]],
  ['  load: () => import(\n    "./x.ts"\n  ),', ["*"]],
  ['let a: import("./x.ts").A;', ["*"]],
])("%j", (text, names, types = []) => {
  expect(importsIn(text)).toEqual([{ from: "./x.ts", names, types }]);
});

test("each of several imports counts, but not one for side effects, and no export of the module itself", () => {
  const text = [
    'import "./effects.ts";',
    'import { a } from "./a.ts";',
    "export { own };",
    "export const from = 1;",
    'import b from "./b.ts";',
  ];
  expect(importsIn(text.join("\n"))).toEqual([
    { from: "./a.ts", names: ["a"], types: [] },
    { from: "./b.ts", names: ["default"], types: [] },
  ]);
});

test("names from other folders count, whichever file exports them, and not those of packages or the feature's own", () => {
  const text = [
    'import { join } from "node:path";',
    'import { own } from "../index.ts";',
    'import { other } from "./other.ts";',
    'import { authSettingsOf } from "../../auth/index.ts";',
    'import { deep } from "../../auth/settings.ts";',
    'import { type KeyMaterial } from "../../security/jwt/index.ts";',
    'export * from "../../http/index.ts";',
  ];
  expect(takenFromOthers("api/stores/store.ts", text.join("\n")).map(({ key, isType }) => [key, isType])).toEqual([
    ["auth: authSettingsOf", false],
    ["auth/settings.ts: deep", false],
    ["security/jwt: KeyMaterial", true],
    ["http: *", false],
  ]);
});
