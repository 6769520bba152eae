import { expect, test } from "vitest";
import { packageName } from "./project.ts";

test.each([
  ["/home/ada/Müller Größe", "muller-grosse"],
  ["Ærøskøbing Łódź", "aeroskobing-lodz"],
  ["İstanbul ıssız", "istanbul-issiz"],
  ["ﬁve½", "five1-2"],
  ["2026 Café", "cafe"],
  ["Shop", "shop"],
  ["密码", "application"],
])("the folder %s becomes the package %s", (folder, name) => {
  expect(packageName(folder)).toBe(name);
});
