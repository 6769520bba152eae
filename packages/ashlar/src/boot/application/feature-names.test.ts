import { expect, test } from "vitest";
import { createApplication } from "./create-application.ts";
import { declareFeature, type Feature } from "./feature.ts";
import { Provider, type ProviderClass } from "./provider.ts";

/** The error message when an application with these two features fails to start. */
async function failureOf(first: Omit<Feature, "name">, second: Omit<Feature, "name">): Promise<string> {
  class FirstProvider extends Provider {
    static override readonly feature: Feature = declareFeature({ name: "first", ...first });
  }
  class SecondProvider extends Provider {
    static override readonly feature: Feature = declareFeature({ name: "second", ...second });
  }
  const providers: ProviderClass[] = [FirstProvider, SecondProvider];
  const error: unknown = await createApplication({ providers, environment: { APP_ENV: "test" } }).then(
    () => null,
    (thrown: unknown) => thrown,
  );
  return (error as Error).message;
}

const checking = (name: string): Omit<Feature, "name"> => ({
  checks: [{ name, findings: { "stock.empty": "The stock is empty." }, load: async () => ({ run: () => {} }) }],
});

test("two features with one finding fail startup with one message", async () => {
  expect(await failureOf(checking("Stock"), checking("Shelves"))).toBe(
    'SecondProvider: the finding "stock.empty" is already declared by FirstProvider. Give one of them another name.',
  );
});

test.each<[string, Omit<Feature, "name">]>([
  ['service "stock"', { services: { stock: () => null } as never }],
  ['message "stock.left"', { messages: { english: { "stock.left": "Left" } } }],
  ['context property "stock"', { context: { stock: () => null } as never }],
])("two features with the %s fail startup with one message", async (claim, parts) => {
  expect(await failureOf(parts, parts)).toBe(
    `SecondProvider: the ${claim} is already declared by FirstProvider. Give one of them another name.`,
  );
});
