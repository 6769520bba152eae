import { expect, test } from "vitest";
import { nodeVersionProblem, runtimeProblem } from "./node-version.ts";

test.each(["24.7.0", "24.7.1", "24.10.0", "25.0.0", "26.10.0", "100.0.0"])("Node.js %s is new enough", (version) => {
  expect(nodeVersionProblem(version)).toBeNull();
});

test.each(["24.6.9", "24.0.0", "23.11.1", "20.19.5", "8.0.0", "0.12.18"])("Node.js %s is too old", (version) => {
  expect(nodeVersionProblem(version)).toBe(
    `Ashlar needs Node.js 24.7 or newer and this is ${version}: run it through npm (npm start, npx ashlar …) after ` +
      `"npm install node@26", or install a newer Node.js from https://nodejs.org.`,
  );
});

test("the running Node.js is checked by default", () => {
  expect(nodeVersionProblem()).toBeNull();
});

test("Bun and Deno are checked by their own versions, not by the Node.js version they imitate", () => {
  expect(runtimeProblem({ node: "24.0.0", bun: "1.4.5" })).toBeNull();
  expect(runtimeProblem({ node: "26.0.0", bun: "1.3.9" })).toBe(
    'Ashlar needs Bun 1.4 or newer and this is 1.3.9: run "bun upgrade".',
  );
  expect(runtimeProblem({ node: "24.0.0", deno: "2.9.6" })).toBeNull();
  expect(runtimeProblem({ node: "26.0.0", deno: "2.8.0" })).toBe(
    'Ashlar needs Deno 2.9 or newer and this is 2.8.0: run "deno upgrade".',
  );
  expect(runtimeProblem({ node: "24.0.0" })).toContain("Node.js 24.7");
  expect(runtimeProblem()).toBeNull();
});
