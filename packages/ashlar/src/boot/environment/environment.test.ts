import { afterEach, describe, expect, test } from "vitest";
import { folderWith } from "../../../test/support/temporary-folder.ts";
import { ConfigurationError, type EnvironmentVariables } from "../../support/index.ts";
import { env, readEnvironment, withEnvironment } from "./environment.ts";

const folder = (dotEnv: string): string => folderWith({ ".env": dotEnv });

afterEach(() => {
  delete process.env.ASHLAR_TEST_SHARED;
});

describe("readEnvironment", () => {
  test("reads .env with quotes, comments and empty values", () => {
    const root = folder("# first\nASHLAR_A=1\nASHLAR_B=\"two words\" # why\nASHLAR_C='#'\nASHLAR_D=\n");
    const { ASHLAR_A, ASHLAR_B, ASHLAR_C, ASHLAR_D } = readEnvironment(root);
    expect({ ASHLAR_A, ASHLAR_B, ASHLAR_C, ASHLAR_D }).toEqual({
      ASHLAR_A: "1",
      ASHLAR_B: "two words",
      ASHLAR_C: "#",
      ASHLAR_D: "",
    });
  });

  test("a variable of the process wins over .env, and a variable in the options wins over both", () => {
    const root = folder("ASHLAR_TEST_SHARED=file\n");
    expect(readEnvironment(root).ASHLAR_TEST_SHARED).toBe("file");
    process.env.ASHLAR_TEST_SHARED = "process";
    expect(readEnvironment(root).ASHLAR_TEST_SHARED).toBe("process");
    expect(readEnvironment(root, { ASHLAR_TEST_SHARED: "given" }).ASHLAR_TEST_SHARED).toBe("given");
  });

  test("S55 an APP_ENV in the options sets NODE_ENV too, unless the options contain NODE_ENV", () => {
    expect(readEnvironment(null, { APP_ENV: "production" }).NODE_ENV).toBe("production");
    expect(readEnvironment(null, { APP_ENV: "test", NODE_ENV: "production" }).NODE_ENV).toBe("production");
    expect(readEnvironment(null, { APP_ENV: "" }).NODE_ENV).toBe(process.env.NODE_ENV);
  });

  test("the process's environment is not changed", () => {
    const before = { ...process.env };
    readEnvironment(folder("ASHLAR_TEST_SHARED=file\nPATH=/nowhere\n"), { ASHLAR_TEST_SHARED: "given" });
    expect({ ...process.env }).toEqual(before);
  });

  test("an application without a folder or without .env has the variables of the process", () => {
    process.env.ASHLAR_TEST_SHARED = "process";
    expect(readEnvironment(null).ASHLAR_TEST_SHARED).toBe("process");
    expect(readEnvironment(folderWith({})).ASHLAR_TEST_SHARED).toBe("process");
  });

  test("the result is frozen and has no prototype", () => {
    const variables = readEnvironment(folder("__proto__=x\nASHLAR_A=1\n"));
    expect(Object.isFrozen(variables)).toBe(true);
    expect(Object.getPrototypeOf(variables)).toBeNull();
    expect("toString" in variables).toBe(false);
  });
});

describe("env", () => {
  const useEnvironment = (variables: EnvironmentVariables): void => withEnvironment(variables, () => undefined);

  test("returns text, or the default if the variable is missing or empty", () => {
    useEnvironment({ NAME: "value", EMPTY: "" });
    expect(env("NAME")).toBe("value");
    expect(env("EMPTY")).toBeUndefined();
    expect(env("ABSENT")).toBeUndefined();
    expect(env("EMPTY", "default")).toBe("default");
    expect(env("NAME", "default")).toBe("value");
  });

  test("with a number as the default, the text is converted to a number", () => {
    useEnvironment({ A: "60", B: "0", C: "-1.5", EMPTY: "" });
    expect([env("A", 1), env("B", 1), env("C", 1), env("EMPTY", 1)]).toEqual([60, 0, -1.5, 1]);
  });

  test("with a boolean as the default, the text is converted to a boolean", () => {
    useEnvironment({ A: "true", B: "1", C: "false", D: "0" });
    expect([env("A", false), env("B", false), env("C", true), env("D", true), env("E", true)]).toEqual([
      true,
      true,
      false,
      false,
      true,
    ]);
  });

  test.each(["sixty", " ", "1e999", "NaN", "60s"])("%j is not a number", (text) => {
    useEnvironment({ LIMIT: text });
    expect(() => env("LIMIT", 587)).toThrow(
      new ConfigurationError("Environment variable LIMIT", "is not a number.", "Set it like LIMIT=587."),
    );
  });

  test.each(["yes", "TRUE", "2", " true"])("%j is not a boolean", (text) => {
    useEnvironment({ ON: text });
    expect(() => env("ON", true)).toThrow(
      new ConfigurationError("Environment variable ON", "is neither true nor false.", "Set it to ON=true or ON=false."),
    );
  });
});
