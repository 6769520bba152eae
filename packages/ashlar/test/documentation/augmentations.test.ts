import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { COMPILERS, compile, compileEach, installedApplication } from "../support/installed-application.ts";
import { docCommentSamples, REPOSITORY } from "../support/samples.ts";

const SOURCE = "packages/ashlar/src";

/** An application that follows one of the documented examples: what the example assumes, and how it is used. */
interface Case {
  /** A part of the example. */
  readonly shows: string;
  readonly before: string;
  readonly after: string;
}

const CASES: readonly Case[] = [
  {
    shows: "interface HttpContext { readonly cart: Cart }",
    before: `import type { Application, HttpContext } from "ashlar";
             class Cart { readonly total: number = 0; }
             declare const application: Application;`,
    after: `export class CartController {
              show({ cart, view }: HttpContext): Promise<string> {
                const total: number = cart.total;
                return view.render("cart", { total });
              }
            }`,
  },
  {
    shows: "interface Services { clock: Clock }",
    before: `import type { Container } from "ashlar";
             interface Clock { now(): number }`,
    after: `export const now = (container: Container): number => container.make("clock").now();
            export const send = (container: Container) => container.make("mail").queue;
            // @ts-expect-error there is no such service
            export const none = (container: Container) => container.make("clocks");`,
  },
  {
    shows: 'interface EventMap { "order.placed": { order: Order } }',
    before: `import type { Events } from "ashlar/events";
             interface Order { id: number }`,
    after: `export function listen(events: Events): void {
              events.on("order.placed", ({ order }) => order.id.toFixed());
              events.on("auth.login", ({ guard }) => guard.toUpperCase());
              // @ts-expect-error an order is not a number
              void events.emit("order.placed", { order: 7 });
            }`,
  },
  {
    shows: "interface ErrorCodes { E_ORDER_CLOSED: 409 }",
    before: `import { AshlarError, declareErrors } from "ashlar";`,
    after: `declareErrors({ E_ORDER_CLOSED: [409, "The order is closed."] });
            // @ts-expect-error its status is different
            declareErrors({ E_ORDER_CLOSED: [500, "The order is closed."] });
            export const closed = new AshlarError("E_ORDER_CLOSED");
            export const isCsrf = (error: AshlarError): boolean => error.code === "E_CSRF";
            // @ts-expect-error there is no such code
            export const none: AshlarError["code"] = "E_ORDER_CLOSE";`,
  },
  {
    shows: "interface ErrorCodes extends StatusesOf<typeof CODES> {}",
    before: `import { AshlarError, declareErrors, ERRORS, type StatusesOf } from "ashlar";
             const CODES = { E_CART_FULL: [409, "The cart is full."], E_NO_CART: [404, "There is no cart."] } as const;`,
    after: `declareErrors(CODES);
            // @ts-expect-error its status is different
            declareErrors({ E_CART_FULL: [500, "The cart is full."] });
            export const full = new AshlarError("E_CART_FULL");
            export const missing: readonly [number, string] = ERRORS.E_NO_CART;
            export const isCsrf = (error: AshlarError): boolean => error.code === "E_CSRF";
            // @ts-expect-error there is no such code
            export const none: AshlarError["code"] = "E_CART_FUL";`,
  },
  {
    shows: "interface ClientErrorCodes { E_ORDER_CLOSED: 409 }",
    before: `import type { ClientError } from "ashlar/client";`,
    after: `export const isClosed = ({ code }: ClientError): boolean => code === "E_ORDER_CLOSED" || code === "E_CSRF";
            // @ts-expect-error there is no such code
            export const none: ClientError["code"] = "E_ORDER_CLOSE";`,
  },
  {
    shows: "interface ApplicationStats { readonly carts?: { readonly open: number } }",
    before: `import type { Application } from "ashlar";`,
    after: `export const add = (application: Application): void => {
              application.addStats("carts", () => ({ open: 3 }));
              // @ts-expect-error there are no such numbers
              application.addStats("cards", () => ({ open: 3 }));
              // @ts-expect-error these are not carts
              application.addStats("carts", () => ({ closed: 3 }));
            };
            export const open = (application: Application): number | undefined => application.stats().carts?.open;
            export const sent = (application: Application): number | undefined => application.stats().mail?.sent;`,
  },
  {
    shows: "interface Limits { export: true }",
    before: `import { type HttpContext, Route } from "ashlar";
             import type { ThrottleSettings } from "ashlar/throttle";
             const buckets = [{ by: ["address"], attempts: 9, windowSeconds: 60 }] as const;`,
    after: `export const routes = [Route.get("/export", () => "").middleware("throttle:export", "throttle:login,user")];
            // @ts-expect-error there is no such limit
            export const none = [Route.get("/export", () => "").middleware("throttle:exports")];
            // @ts-expect-error there is no such limit
            export const group = Route.group({ middleware: ["web", "throttle:logn"] }, routes);
            export const hit = (context: HttpContext) => context.throttle.hit(context, "export");
            // @ts-expect-error there is no such limit
            export const miss = (context: HttpContext) => context.throttle.hit(context, "exports");
            export const own = { limits: { export: { buckets }, "password_reset.show": { buckets } } } satisfies ThrottleSettings;
            // @ts-expect-error there is no such limit
            export const typo = { limits: { logn: { buckets } } } satisfies ThrottleSettings;`,
  },
  {
    shows: "interface Limits { orders: true }",
    before: `import { declareFeature, type Feature, Provider, Route } from "ashlar";
             import type {} from "ashlar/throttle";
             const buckets = [{ by: ["address"], attempts: 9, windowSeconds: 60 }] as const;`,
    after: `export class Orders extends Provider {
              static override readonly feature: Feature = declareFeature({ name: "orders", limits: { orders: { buckets } } });
              // @ts-expect-error its name has not been declared
              static readonly other: Feature = declareFeature({ name: "orders", limits: { order: { buckets } } });
            }`,
  },
  {
    shows: "interface AccountMailMap { welcome: WelcomeData }",
    before: `import type { Application } from "ashlar";
             import { type AccountMailables, type AccountMailData, queueAccountMail } from "ashlar/auth";
             import { VerifyEmailMail } from "./app/mailables/verify-email-mail.ts";
             import type { User } from "./app/models/user.ts";
             interface WelcomeData extends AccountMailData { coupon: string }`,
    after: `declare const WelcomeMail: NonNullable<AccountMailables["welcome"]>;
            export const own = { welcome: WelcomeMail, verifyEmail: VerifyEmailMail } satisfies AccountMailables;
            // @ts-expect-error there is no such mail
            export const none = { welcom: WelcomeMail } satisfies AccountMailables;
            export const welcome = (application: Application, user: User): Promise<void> =>
              queueAccountMail(application, "welcome", user.email, { user, guard: "web", coupon: "A-7" });
            export const bare = (application: Application, user: User): Promise<void> =>
              // @ts-expect-error it needs the coupon
              queueAccountMail(application, "welcome", user.email, { user, guard: "web" });`,
  },
  {
    shows: 'interface MiddlewareArguments { plan: "silver" | "gold" }',
    before: `import { Route } from "ashlar";`,
    after: `export const routes = [Route.get("/", () => "").middleware("auth", "plan:gold", "plan:@plan", "other:gold")];
            // @ts-expect-error there is no such plan
            export const none = [Route.get("/", () => "").middleware("auth", "plan:golden")];`,
  },
  {
    shows: 'interface Messages { "app.orders.count"',
    before: `import type { HttpContext } from "ashlar";`,
    after: `export const orders = ({ t }: HttpContext): string => t("app.orders.count", { count: 2 });
            // @ts-expect-error it needs the number
            export const none = ({ t }: HttpContext): string => t("app.orders.count");`,
  },
  {
    shows: "interface Register { user: User } }",
    before: `import type { HttpContext } from "ashlar";
             import { User } from "./app/models/user.ts";`,
    after: "export const email = ({ request }: HttpContext): string | undefined => request.user()?.email;",
  },
  {
    shows: "interface Register { user: User; guards: { staff: Employee } }",
    before: `import { Authenticates } from "ashlar/auth";
             import { compose, Model } from "ashlar/database";
             import type { HttpContext } from "ashlar";
             import { User } from "./app/models/user.ts";
             class Employee extends compose(Model, Authenticates) { declare desk: string; }`,
    after: `export async function desk({ auth }: HttpContext): Promise<string | undefined> {
              // @ts-expect-error a customer is not an employee
              auth.guard("staff").once(new User());
              await auth.guard("web").loginAs(new User());
              return (await auth.guard("staff").user())?.desk;
            }`,
  },
  {
    shows: "interface Guards { device: DeviceGuard }",
    before: `import { RequestGuard } from "ashlar/auth";
             import type { HttpContext } from "ashlar";
             class DeviceGuard extends RequestGuard {
               protected override retrieve(): null { return null; }
               serial(): string | null { return this.context.request.header("x-device"); }
             }`,
    after: `export const serial = ({ auth }: HttpContext): string | null => auth.guard("device").serial();
            export const confirm = ({ auth }: HttpContext) => auth.guard("web").confirmPassword("");
            // @ts-expect-error a guard of this kind logs no one in
            export const none = ({ auth }: HttpContext) => auth.guard("device").attempt("", "");`,
  },
  {
    shows: "interface Register { tables: { orders: OrderRow } }",
    before: `import type { Database } from "ashlar/database";
             interface OrderRow { id: number; number: string }`,
    after: `export const numbers = (database: Database) =>
              database.kysely.selectFrom("orders").select("number").execute() satisfies Promise<{ number: string }[]>;`,
  },
];

const PUBLIC = {
  HttpContext: "ashlar",
  Services: "ashlar",
  ErrorCodes: "ashlar",
  EventMap: "ashlar/events",
  Guards: "ashlar/auth",
  Limits: "ashlar/throttle",
  MiddlewareArguments: "ashlar",
  AccountMailMap: "ashlar/auth",
  ApplicationStats: "ashlar",
  Application: "ashlar",
} as const;

/** The interface that applications augment, by the interface that features augment. */
const AUGMENTED: Readonly<Record<string, keyof typeof PUBLIC>> = {
  FrameworkContext: "HttpContext",
  FrameworkServices: "Services",
  FrameworkErrors: "ErrorCodes",
  FrameworkEvents: "EventMap",
  FrameworkGuards: "Guards",
  FrameworkLimits: "Limits",
  FrameworkMiddlewareArguments: "MiddlewareArguments",
  FrameworkAccountMails: "AccountMailMap",
  FrameworkStats: "ApplicationStats",
  FrameworkApplication: "Application",
};

/** The members that the framework's own features add, by interface: `{ HttpContext: ["view", …] }`. */
async function ownMembers(): Promise<Record<keyof typeof PUBLIC, string[]>> {
  const members: Record<keyof typeof PUBLIC, string[]> = {
    HttpContext: [],
    Services: [],
    ErrorCodes: [],
    EventMap: [],
    Guards: [],
    Limits: [],
    MiddlewareArguments: [],
    AccountMailMap: [],
    ApplicationStats: [],
    Application: [],
  };
  const folder = join(REPOSITORY, SOURCE);
  for (const entry of await readdir(folder, { recursive: true })) {
    if (!entry.endsWith(".ts") || entry.endsWith(".test.ts")) continue;
    const text = await readFile(join(folder, entry), "utf8");
    for (const [, block = ""] of text.matchAll(/^declare module "[./][^"]*" \{\n([\s\S]*?)^\}/gm)) {
      const [, name = ""] = /interface (\w+)/.exec(block) ?? [];
      // These have no members that could be lost.
      if (name === "FrameworkMessages" || name === "Visitor") continue;
      // What features declare, not what they add to an application.
      if (["FrameworkFeatureParts", "FrameworkCheckContext", "FeatureMails"].includes(name)) continue;
      const key = AUGMENTED[name];
      // The published types leave out what is internal.
      const published = block.replaceAll(/^ {4}\/\*\* @internal [^\n]*\n[^\n]*\n/gm, "");
      if (key === undefined) throw new Error(`${entry} augments ${name}, which no feature should.`);
      members[key].push(
        ...[...published.matchAll(/^ {4}(?:readonly )?("[^"]+"|\w+)(?:\??:|[<(])/gm)].map(([, member]) => member!),
      );
      // Error codes come from their definitions.
      const [, codes = ""] =
        (key === "ErrorCodes" && /^(?:export )?const (?:CODES|[A-Z]+_ERRORS) = \{\n([\s\S]*?)^\}/m.exec(text)) || [];
      members[key].push(...[...codes.matchAll(/^ {2}(E_\w+): /gm)].map(([, code]) => code!));
    }
  }
  return members;
}

/** What is added by a path that a new application doesn't import, because it needs an optional package. */
const ELSEWHERE = [
  "ashlar/metrics",
  "ashlar/authenticators",
  "ashlar/login-links",
  "ashlar/passkeys",
  "ashlar/two-factor",
];

/** A file that compiles if everything that the features add exists, and has a type. */
async function presence(): Promise<string> {
  const members = await ownMembers();
  const lines = Object.entries(PUBLIC).flatMap(([name, from]) => [
    `import type { ${name} } from "${from}";`,
    ...members[name as keyof typeof PUBLIC].map(
      (member) =>
        `export const ${name}_${member.replaceAll(/\W/g, "_")}: Typed<${name}[${JSON.stringify(JSON.parse(member.startsWith('"') ? member : `"${member}"`))}]> = true;`,
    ),
  ]);
  const imports = ELSEWHERE.map((path) => `import type {} from "${path}";`);
  return `${imports.join("\n")}\ntype Typed<T> = 0 extends 1 & T ? "any" : true;\n${lines.join("\n")}\n`;
}

async function examples(): Promise<{ name: string; text: string }[]> {
  const samples = (await docCommentSamples(SOURCE)).filter(({ code }) => code.includes('declare module "'));
  return samples.map(({ file, line, code }) => {
    const found = CASES.find(({ shows }) => code.includes(shows));
    if (found === undefined) throw new Error(`${file}:${line} shows an augmentation that no case tries out.`);
    // Only its imports and the module's declaration are tested; the rest needs a request.
    const [declaration] = /(?:^import[^\n]*\n)*declare module[^\n]*\n?/m.exec(`${code}\n`) ?? [];
    return { name: `${file}:${line}`, text: `${found.before}\n${declaration}\n${found.after}\nexport {};\n` };
  });
}

/**
 * Checks an application with TypeScript 7, with the files of each case in addition to its own: as many projects, which
 * one process parses together and checks separately.
 *
 * @returns the problems; empty if there aren't any
 */
async function checkEach(root: string, cases: Readonly<Record<string, readonly string[]>>): Promise<object> {
  const projects: string[] = [];
  for (const files of Object.values(cases)) {
    const project = `tsconfig.${projects.length}.json`;
    const only = { extends: "./tsconfig.json", include: ["**/*.ts"], exclude: ["node_modules", "0*.ts"], files };
    await writeFile(join(root, project), JSON.stringify(only));
    projects.push(project);
  }
  const output = await compile(root, "TypeScript 7", "--build", ...projects, "--builders", "1", "--singleThreaded");
  return output === "" ? {} : { output };
}

describe("the augmentations shown in doc comments", () => {
  test("are those of HttpContext, Services, ErrorCodes, EventMap, Limits, MiddlewareArguments, stats and Register", async () => {
    const texts = (await docCommentSamples(SOURCE)).map(({ code }) => code);
    for (const { shows } of CASES)
      expect(texts.filter((code) => code.includes(shows)).length, shows).toBeGreaterThan(0);
    const { HttpContext, Services, ErrorCodes, EventMap, Limits, MiddlewareArguments, ApplicationStats, Application } =
      await ownMembers();
    expect(Application).toEqual(["authenticate"]);
    expect(ApplicationStats.toSorted()).toEqual(["authentications", "database", "events", "mail", "redis", "replicas"]);
    expect(HttpContext).toEqual(
      expect.arrayContaining(["view", "auth", "session", "throttle", "accounts", "apiToken"]),
    );
    expect(Services).toEqual(expect.arrayContaining(["mail", "database", "events", "views"]));
    expect(ErrorCodes).toEqual(expect.arrayContaining(["E_VIEW", "E_INVALID_MAIL", "E_DATABASE"]));
    expect(Limits).toEqual(expect.arrayContaining(["login", '"password_reset.show"', '"api.reauth"']));
    expect(MiddlewareArguments).toEqual(["throttle", '"two-factor"']);
    expect(EventMap).toEqual(expect.arrayContaining(['"auth.login"', '"mail.failed"', '"api.token_issued"']));
  });

  test.for(Object.keys(COMPILERS) as (keyof typeof COMPILERS)[])(
    "leave the framework's declarations intact in an application: %s",
    { timeout: 240_000 },
    async (compiler) => {
      const root = await installedApplication();
      const files = await examples();
      await writeFile(join(root, "presence.ts"), await presence());
      const names = files.map((_, index) => `0${index}.ts`);
      for (const [index, { text }] of files.entries()) await writeFile(join(root, names[index]!), text);
      const together = { "without any": [], "all together": names };
      const alone = Object.fromEntries(files.map(({ name }, index) => [name, [names[index]!]]));
      // Whether one augmentation needs another does not depend on the compiler: the fastest is enough.
      const problems =
        compiler === "TypeScript 7"
          ? await checkEach(root, { ...together, ...alone })
          : compileEach(root, compiler, together);
      expect(problems).toEqual({});
    },
  );
});
