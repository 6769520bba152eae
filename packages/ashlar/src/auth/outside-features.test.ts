// What features outside the framework can declare, and what they can't take over from others.
import { expect, test } from "vitest";
import { ADA, NEW_PASSWORD, PASSWORD, testAccounts } from "../../test/support/account-application.ts";
import { declareFeature, type Feature, Provider, type ProviderClass } from "../boot/index.ts";
import { ERRORS, isSecretName } from "../support/index.ts";
import { ThrottleProvider } from "../throttle/index.ts";
import type { FeatureProof } from "./proofs/proof.ts";
import type { Authenticatable } from "./users/authenticatable.ts";

function providerOf(feature: Feature): ProviderClass {
  return class OutsideProvider extends Provider {
    static override readonly feature: Feature = declareFeature(feature);
  };
}

const badges = new Set<string>();

class BadgeProof implements FeatureProof<Authenticatable> {
  readonly amr = ["sc"];
  readonly startsLogins = true;
  readonly #all = badges;

  has(user: Authenticatable): boolean {
    return this.#all.has(String(user.authId()));
  }

  endAccess(user: Authenticatable): void {
    this.#all.delete(String(user.authId()));
  }
}

class CodeProof implements FeatureProof<Authenticatable> {
  readonly amr = ["otp"];

  has(): boolean {
    return true;
  }

  get step(): NonNullable<FeatureProof<Authenticatable>["step"]> {
    return new (class {
      readonly #outcome = { pending: "app.code" } as never;
      check(): never {
        return this.#outcome;
      }
    })();
  }
}

class BadgeData {
  readonly #all = badges;

  export(): readonly Readonly<Record<string, unknown>>[] {
    return [...this.#all].map((id) => ({ id }));
  }

  erase(): void {
    this.#all.clear();
  }
}

test("a step is asked for if its proof is a class instance", async () => {
  const accounts = await testAccounts({
    providers: [providerOf({ name: "codes", proofs: { code: () => new CodeProof() as never } })],
  });
  const guest = accounts.visitor();
  await guest.post("/login", { email: ADA.email, password: PASSWORD });
  expect((await guest.get("/me")).body).toEqual({ user: null });
});

test("a credential ends with access if its proof is a class instance", async () => {
  const accounts = await testAccounts({
    providers: [providerOf({ name: "badges", proofs: { badge: () => new BadgeProof() as never } })],
  });
  badges.add(String(ADA.id));
  const visitor = await accounts.loggedIn();
  const change = { current_password: PASSWORD, password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
  expect((await visitor.post("/account/password", change)).status).toBe(302);
  expect([...badges]).toEqual([]);
});

test("a user's data is exported and erased by a class instance", async () => {
  const accounts = await testAccounts({
    providers: [providerOf({ name: "badge-data", userData: { badges: () => new BadgeData() } })],
  });
  badges.add("7");
  const data = accounts.application.container.make("userData").all.find(({ name }) => name === "badges");
  expect(data!.export({} as never)).toEqual([{ id: "7" }]);
  expect(await (await accounts.user()).delete()).toBe(true);
  expect([...badges]).toEqual([]);
});

test.each([
  ["has", { amr: ["sc"] }, "has: (user) => …"],
  ["step.check", { amr: ["sc"], has: () => true, step: {} }, "step: { check: (login) => … }"],
])("a proof without %s fails startup", async (missing, proof, remedy) => {
  const boot = testAccounts({ providers: [providerOf({ name: "badges", proofs: { badge: () => proof as never } })] });
  await expect(boot).rejects.toThrow(`OutsideProvider: the proof "badge" has no function ${missing}. Write ${remedy}.`);
});

test("a feature can't take the name of the accounts service", async () => {
  const boot = testAccounts({
    providers: [providerOf({ name: "taker", services: { accounts: () => ({}) as never } })],
  });
  await expect(boot).rejects.toThrow('"accounts"');
});

test("a feature can't give an error code of another one a different meaning", async () => {
  const [status, sentence] = ERRORS.E_SESSION;
  const taker = providerOf({ name: "taker", errors: { E_SESSION: [400, "Hello."] } });
  const boot = testAccounts({ providers: [taker] });
  await expect(boot).rejects.toThrow("OutsideProvider: the error code E_SESSION already has another meaning, from ");
  expect(ERRORS.E_SESSION).toEqual([status, sentence]);
});

test("a provider that extends another one keeps the other's feature", async () => {
  class OwnThrottleProvider extends ThrottleProvider {
    static override readonly feature: Feature = declareFeature({
      name: "orders",
      variables: { ORDERS_PIN: { isSecret: true } },
    });
  }
  const { application } = await testAccounts({ without: [ThrottleProvider], providers: [OwnThrottleProvider] });
  expect([...application.container.make("audit").counts.keys()]).toContain("auth.lockout");
  expect(application.features.map(({ feature }) => feature.name)).toContain("orders");
});

test("the name of a feature's secret variable is a secret in logs", async () => {
  expect(isSecretName("BADGE_READER")).toBe(false);
  await testAccounts({ providers: [providerOf({ name: "badges", variables: { BADGE_READER: { isSecret: true } } })] });
  expect(isSecretName("badgeReader")).toBe(true);
});

test("two features of one name fail startup with both providers", async () => {
  class OtherProvider extends Provider {
    static override readonly feature: Feature = declareFeature({ name: "badges" });
  }
  const boot = testAccounts({ providers: [providerOf({ name: "badges" }), OtherProvider] });
  await expect(boot).rejects.toThrow(
    'OtherProvider: the feature "badges" is already declared by OutsideProvider. Give one of them another name.',
  );
  const session = testAccounts({ providers: [providerOf({ name: "session" })] });
  await expect(session).rejects.toThrow(
    'OutsideProvider: the feature "session" is already declared by SessionProvider.',
  );
});

test.each([[undefined], ["sc"], [["sc", ""]], [[5]]])("a proof with amr %j fails startup", async (amr) => {
  const proofs = { badge: () => ({ amr, has: () => true }) as never };
  const boot = testAccounts({ providers: [providerOf({ name: "badges", proofs })] });
  await expect(boot).rejects.toThrow(
    'OutsideProvider: amr of the proof "badge" is not a list of the factors that it satisfies. ' +
      'Write values of RFC 8176: amr: ["otp"]; or [] if they are not known.',
  );
});

test("commands that a provider declares outside its feature make startup fail", async () => {
  class OldProvider extends Provider {
    static readonly commands = [];
  }
  const boot = testAccounts({ providers: [OldProvider] });
  await expect(boot).rejects.toThrow("OldProvider: static commands are not read. List them in its feature");
});

test("a feature can't replace the driver of a guard", async () => {
  class TakingProvider extends Provider {
    override boot(): void {
      this.application.container.make("auth").registerDriver("web", () => () => ({}) as never);
    }
  }
  await expect(testAccounts({ providers: [TakingProvider] })).rejects.toThrow(
    'The guard driver "web" is registered twice',
  );
});
