import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  type Application,
  AshlarError,
  createApplication,
  declareErrors,
  declareFeature,
  type Feature,
  HttpKernel,
  type Logger,
  Provider,
  Route,
} from "ashlar";
import { type AccountMailables, Authenticates, AuthProvider } from "ashlar/auth";
import { compose, DatabaseProvider, Model, sqlite } from "ashlar/database";
import { EventProvider } from "ashlar/events";
import { MailProvider } from "ashlar/mail";
import { declareKeyPurpose, generateSecret, Signer } from "ashlar/security";
import { captureEvents, captureMail, createTestClient, linksIn, type MailCapture } from "ashlar/testing";
import { ThrottleMiddleware, ThrottleProvider } from "ashlar/throttle";
import { ViewProvider } from "ashlar/views";
import { describe, expect, onTestFinished, test } from "vitest";
import type { DoctorReport } from "../../src/cli/doctor/report.ts";
import { COMMAND, edit, execute, generatedApplication } from "../support/generated-application.ts";
import {
  InvitationAcceptedMail,
  InvitationMail,
  Invitations,
  InvitationsController,
  InvitationsProvider,
  InvitedMiddleware,
} from "./invitations/index.ts";

// Nothing here, nor in `invitations/`, is imported from the framework's own folders: this is what a package can add.

class Kernel extends HttpKernel {
  override routeMiddleware: HttpKernel["routeMiddleware"] = {
    web: [],
    api: [],
    throttle: [ThrottleMiddleware],
    invited: [InvitedMiddleware],
  };
}

const APP_KEY = generateSecret();
const FEATURES = [EventProvider, ViewProvider, MailProvider, ThrottleProvider];

async function create(
  providers: readonly (new (application: Application) => Provider)[] = [...FEATURES, InvitationsProvider],
  options: Parameters<typeof createApplication>[0] = {},
): Promise<Application> {
  const application = await createApplication({
    kernel: Kernel,
    providers,
    routes: InvitationsController.routes(),
    environment: { APP_ENV: "test", APP_KEY },
    ...options,
  });
  onTestFinished(() => application.shutdown());
  return application;
}

/** A log that is kept in a list. */
function loggerInto(lines: string[]): Logger {
  const write = (...parts: unknown[]): void => void lines.push(JSON.stringify(parts));
  const levels = { trace: write, debug: write, info: write, warn: write, error: write, fatal: write };
  const logger: Logger = { ...levels, child: () => logger, isLevelEnabled: () => true };
  return logger;
}

/** Invites an address, and returns the path of the link in the mail. */
async function invite(application: Application, email: string): Promise<string> {
  const mails = await captureMail(application);
  const answer = await createTestClient(application).post("/invitations", { email });
  expect(answer.status).toBe(202);
  const [link] = linksIn(await mails.assertSent(({ to }) => to.includes(email)));
  return new URL(link!).pathname;
}

describe("a feature outside the package", () => {
  test("mails an invitation with its own template, and emits an event when it is accepted", async () => {
    const application = await create();
    const events = captureEvents(application);
    const path = await invite(application, "ada@example.com");
    const answer = await createTestClient(application).get(path);
    expect(answer.json).toEqual({ email: "ada@example.com" });
    events.assertEmitted("invitation.accepted", { email: "ada@example.com" });
  });

  test("responds with its own error code if a link was not signed for its purpose", async () => {
    const client = createTestClient(await create());
    for (const purpose of ["signed-url", "invitation", "feature/invitation", "application/invitation", "session"]) {
      const code = new Signer(APP_KEY, purpose).sign("eve@example.com");
      const answer = await client.get(`/invitations/${code}`, { headers: { accept: "application/json" } });
      expect([answer.status, answer.json]).toEqual([
        410,
        expect.objectContaining({ code: "E_INVITATION", detail: "This invitation is invalid or has expired." }),
      ]);
    }
  });

  test("has its own limit, which the configuration can replace by name", async () => {
    const statuses = async (application: Application) => {
      const client = createTestClient(application);
      const all: number[] = [];
      for (const name of ["a", "b", "c"]) {
        all.push((await client.post("/invitations", { email: `${name}@example.com` })).status);
      }
      return all;
    };
    expect(await statuses(await create())).toEqual([202, 202, 429]);
    const limits = { invitations: { buckets: [{ by: ["address"], attempts: 1, windowSeconds: 60 }] } };
    const config = { throttle: { THROTTLE: { limits } } };
    expect(await statuses(await create(undefined, { config }))).toEqual([202, 429, 429]);
  });

  test("keeps its secret out of the log by the parameter's name", async () => {
    const lines: string[] = [];
    const application = await create(undefined, {
      logger: loggerInto(lines),
      config: { app: { APP: { log: { requests: true } } } },
    });
    const path = await invite(application, "ada@example.com");
    await createTestClient(application).get(path);
    expect(lines.join("\n")).toContain("/invitations/@invitation_code");
    expect(lines.join("\n")).not.toContain(path.split("/").at(-1));
  });

  test("has settings, including a mail that the application can replace", async () => {
    class OwnMail extends InvitationMail {
      override subject(): string {
        return "Join us";
      }
    }
    const application = await create(undefined, { config: { invitations: { INVITATIONS: { mailable: OwnMail } } } });
    const mails = await captureMail(application);
    await invite(application, "ada@example.com");
    await mails.assertSent(OwnMail);
    const config = { invitations: { INVITATIONS: { expiresInMinutes: 0 } } };
    await expect(create(undefined, { config })).rejects.toThrow(
      "config/invitations.ts: INVITATIONS.expiresInMinutes: is 0. Write a whole number of minutes from 1 to 525600, or leave it out for 60.",
    );
    const misspelt = { invitations: { INVITATIONS: { expireInMinutes: 5 } } };
    await expect(create(undefined, { config: misspelt })).rejects.toThrow(
      'INVITATIONS.expireInMinutes: is not a known setting. Did you mean "expiresInMinutes"?',
    );
  });
});

describe("a mail about accounts that a feature declares", () => {
  class User extends compose(Model, Authenticates) {
    declare email: string;
  }
  const createWithAccounts = (mailables: object): Promise<Application> => {
    const config = {
      auth: { GUARDS: { web: { model: User } }, ACCOUNTS: { mailables } },
      database: { DATABASES: { default: "main", main: sqlite({ path: ":memory:" }) } },
    };
    return create([DatabaseProvider, ...FEATURES, AuthProvider, InvitationsProvider], { config });
  };
  const tell = async (application: Application): Promise<MailCapture> => {
    const mails = captureMail(application);
    const user = Object.assign(new User(), { email: "ada@example.com" });
    await application.container.make("invitations").tellInviter(user, "web", "grace@example.com");
    return mails;
  };

  test("is sent to a user, with the feature's own messages", async () => {
    const mails = await tell(await createWithAccounts({}));
    const sent = await mails.assertSent(InvitationAcceptedMail);
    expect([sent.to, sent.subject, sent.text]).toEqual([
      "ada@example.com",
      "grace@example.com has accepted your invitation",
      expect.stringContaining("grace@example.com"),
    ]);
  });

  test("is replaced by the application like the framework's mails", async () => {
    class OwnMail extends InvitationAcceptedMail {
      override subject(): string {
        return "Accepted";
      }
    }
    const mailables = { invitationAccepted: OwnMail } satisfies AccountMailables;
    const mails = await tell(await createWithAccounts(mailables));
    await mails.assertSent(OwnMail);
    // @ts-expect-error there is no such mail
    const misspelt = { invitationAcepted: OwnMail } satisfies AccountMailables;
    await expect(createWithAccounts(misspelt)).rejects.toThrow(
      'config/auth.ts: ACCOUNTS.mailables.invitationAcepted: is not a known setting. Did you mean "invitationAccepted"?',
    );
  });
});

describe("a feature's command", () => {
  /** An application with the feature, as its author would set it up. */
  async function install(): Promise<string> {
    const root = await generatedApplication({ api: false });
    const path = join(root, "config/providers.ts");
    const text = await readFile(path, "utf8");
    const feature = JSON.stringify(join(import.meta.dirname, "invitations/index.ts"));
    const listed = text.replace(/^ {2}AuthProvider,$/m, "$&\n  InvitationsProvider,");
    await writeFile(path, `import { InvitationsProvider } from ${feature};\n${listed}`);
    return root;
  }
  const ashlar = (root: string, ...args: string[]) => execute(root, process.execPath, [COMMAND, ...args]);

  test("publishes the files that the application needs, which then work", async () => {
    const root = await install();
    expect((await ashlar(root, "--help")).output).toMatch(/^ {2}invitations:install .*Adds the configuration/m);
    const installed = await ashlar(root, "invitations:install");
    expect([installed.code, installed.output.replace(/\d{4}_\d\d_\d\d_\d{6}/, "DATE").split("\n")]).toEqual([
      0,
      [
        "Created config/invitations.ts",
        "Created database/migrations/DATE_create_invitations.ts",
        "Run the migrations: npx ashlar migrate",
        "",
        "Add the following by hand:",
        "",
        "app/kernel.ts",
        '  import { InvitedMiddleware } from "invitations";',
        "  // in routeMiddleware:",
        "  invited: [InvitedMiddleware],",
        "",
      ],
    ]);
    expect((await ashlar(root, "migrate")).output).toMatch(/Migrated \S+_create_invitations\n$/);
    const again = await ashlar(root, "invitations:install");
    expect(again.output).toContain("Every file is already in place; nothing was changed.\n");
  });

  test("prints its mails in development, since no page shows its mailbox", async () => {
    const root = await generatedApplication({ api: false });
    await writeFile(
      join(root, "app/greeting.ts"),
      `import { type CommandContext, declareFeature, Provider } from "ashlar";
       import { Mailable } from "ashlar/mail";
       class Greeting extends Mailable {
         subject() { return "Hello"; }
         content() { return { text: "greeting", data: { link: this.url("/home") } }; }
       }
       const run = async ({ application, args }: CommandContext) => {
         await (await application()).container.make("mail").queue(new Greeting(), args[0]!);
       };
       export class GreetingProvider extends Provider {
         static override feature = declareFeature({
           name: "greeting",
           commands: [{ name: "greet", description: "Greets.", load: () => Promise.resolve({ run }) }],
         });
       }`,
    );
    await writeFile(join(root, "views/greeting.edge"), "Hello\u001b[2J\n\nOpen {{ link }}\n");
    await edit(root, "config/providers.ts", [
      "export const",
      'import { GreetingProvider } from "../app/greeting.ts";\n\nexport const',
    ]);
    await edit(root, "config/providers.ts", ["  AuthProvider,", "  AuthProvider,\n  GreetingProvider,"]);
    expect(await ashlar(root, "greet", "ada@example.com")).toEqual({
      code: 0,
      output: [
        "A mail, which in development is printed and not sent:",
        "",
        "To: ada@example.com",
        "Subject: Hello",
        "",
        "Hello[2J",
        "",
        "Open http://localhost:3000/home",
        "",
        "",
      ].join("\n"),
    });
  });

  test("checks the application with its own check of the doctor, which the boot doesn't have to reach", async () => {
    const root = await install();
    await ashlar(root, "migrate");
    const found = async () => {
      const { output } = await ashlar(root, "doctor", "--json");
      const { findings, skipped } = JSON.parse(output) as DoctorReport;
      return { findings: findings.filter(({ id }) => id.startsWith("invitations.")), skipped };
    };
    const [file, remedy] = ["config/invitations.ts", { run: null, file: null, lines: [], remove: null, note: null }];
    const table = {
      ...{ id: "invitations.table", severity: "error", file: null, line: null },
      problem: "The database has no table invitations.",
      remedy: { ...remedy, run: "npx ashlar invitations:install && npx ashlar migrate" },
    };
    expect((await found()).findings).toEqual([table]);
    await ashlar(root, "invitations:install");
    await edit(root, file, ["60", "99999"]);
    const lifetime = {
      ...{ id: "invitations.lifetime", severity: "warning", file, line: null },
      problem: "Invitations are valid for more than a month: an old mail lets its reader in.",
      remedy: { ...remedy, file, lines: ["// in INVITATIONS:", "expiresInMinutes: 60,"] },
    };
    // The migration that creates the table is pending, which is a finding already.
    expect((await found()).findings).toEqual([lifetime]);
    await ashlar(root, "migrate");
    await edit(root, "routes/web.ts", [
      "export const ROUTES: RouteEntry[] = [",
      'export const ROUTES: RouteEntry[] = [\n  Route.post("/invitations", () => null),',
    ]);
    const { findings } = await found();
    expect(findings).toEqual([
      lifetime,
      {
        ...{ id: "invitations.limit", severity: "warning", file: "routes/web.ts", line: expect.any(Number) },
        problem: "One visitor can send any number of invitations.",
        remedy: { ...remedy, note: 'Add .middleware("throttle:invitations").' },
      },
    ]);
    const { output } = await ashlar(root, "features", "invitations");
    expect(output).toMatch(
      /^ {2}checks +Invitations: invitations\.lifetime \(Invitations are valid .*\), invitations\.table/m,
    );
    await edit(root, file, ["99999", "0"]);
    const without = await found();
    expect(without.findings).toEqual([]);
    expect(without.skipped).toContainEqual({ check: "Invitations", reason: "the application doesn't boot" });
  });

  test("boots the application if it needs to, and fails with its own errors", async () => {
    const root = await install();
    expect(await ashlar(root, "invitations:url")).toEqual({ code: 0, output: "http://localhost:3000 true\n" });
    expect(await ashlar(root, "invitations:url", "x")).toEqual({
      code: 1,
      output: "invitations:url takes no arguments.\n",
    });
  });
});

test("the type checker knows the names that a feature adds", async () => {
  const application = await create();
  const { container } = application;
  // @ts-expect-error there is no such service
  expect(() => container.make("invitation")).toThrow('Did you mean "invitations"?');
  // @ts-expect-error there is no such event
  container.make("events").on("invitation.accept", () => {});
  // @ts-expect-error the event has an address
  container.make("events").on("invitation.accepted", ({ address }) => address);
  const route = Route.post("/invitations/again", () => null);
  // @ts-expect-error there is no such limit
  const misspelt = [route.middleware("throttle:invitation")];
  await expect(create(undefined, { routes: misspelt })).rejects.toThrow('Did you mean "invitations"?');
  // @ts-expect-error there is no such limit
  const counted = container.make("throttle").consume("invitation", {});
  await expect(counted).rejects.toThrow('Did you mean "invitations"?');
  const right = [route.middleware("throttle:invitations,user", "invited")];
  await create(undefined, { routes: [...InvitationsController.routes(), ...right] });
  // @ts-expect-error it has another status
  expect(() => declareErrors({ E_INVITATION: [404, "There is no invitation."] })).toThrow(
    "already has another meaning",
  );
});

describe("a second feature with the same names makes startup fail", () => {
  test("for a limit, with both providers", async () => {
    class Copy extends Provider {
      static override readonly feature: Feature = declareFeature({
        name: "copy",
        limits: { invitations: { buckets: [{ by: ["address"], attempts: 9, windowSeconds: 9 }] } },
      });
    }
    await expect(create([...FEATURES, InvitationsProvider, Copy])).rejects.toThrow(
      'Copy: the limit "invitations" is already declared by InvitationsProvider. Give one',
    );
  });

  test("for a property of the context", async () => {
    class Copy extends Provider {
      override boot(): void {
        this.application.contextProperty("invitations", () => this.application.container.make("invitations"));
      }
    }
    await expect(create([...FEATURES, InvitationsProvider, Copy])).rejects.toThrow(
      'already has a property "invitations"',
    );
  });

  test("for an error code, with both locations", () => {
    expect(() => declareErrors({ E_INVITATION: [410, "The party is over."] })).toThrow(
      /own-feature\.test\.ts:\d+: the error code E_INVITATION already has another meaning, from \S*invitations\/errors\.ts\./,
    );
    expect(new AshlarError("E_INVITATION").message).toBe("This invitation is invalid or has expired.");
  });

  test("for a service, with both providers, unless it replaces the first one", async () => {
    class Copy extends Provider {
      override register(): void {
        this.application.container.singleton("invitations", () => new Invitations(this.application));
      }
    }
    const refusal = expect.objectContaining({
      code: "E_DUPLICATE_SERVICE",
      message: expect.stringContaining('Copy: the service "invitations" is already bound by InvitationsProvider. '),
    });
    await expect(create([...FEATURES, InvitationsProvider, Copy])).rejects.toThrow(refusal);

    class OwnInvitations extends Invitations {
      override invite(): Promise<void> {
        return Promise.reject(new AshlarError("E_INVITATION"));
      }
    }
    class Replacement extends Provider {
      override register(): void {
        this.application.container.replace("invitations", () => new OwnInvitations(this.application));
      }
    }
    const application = await create([...FEATURES, InvitationsProvider, Replacement]);
    const answer = await createTestClient(application).post("/invitations", { email: "ada@example.com" });
    expect(answer.status).toBe(410);
  });

  test("for one of the framework's services, with the provider that binds it", async () => {
    class OwnMail extends Provider {
      override register(): void {
        this.application.container.singleton("mail", () => {
          throw new Error("not asked for");
        });
      }
    }
    await expect(create([...FEATURES, InvitationsProvider, OwnMail])).rejects.toThrow(
      'OwnMail: the service "mail" is already bound by MailProvider. Choose another key, or replace the service: ',
    );
    class OtherMailProvider extends MailProvider {}
    await expect(create([...FEATURES, InvitationsProvider, OtherMailProvider])).rejects.toThrow(
      'OtherMailProvider: the service "mail" is already bound by MailProvider. ',
    );
  });

  test("but not for a provider that is listed twice", async () => {
    await expect(create([...FEATURES, InvitationsProvider, MailProvider, InvitationsProvider])).resolves.toBeDefined();
  });

  test("for a key purpose, with both locations", () => {
    expect(() => declareKeyPurpose("invitation")).toThrow(
      /own-feature\.test\.ts:\d+: the key purpose "invitation" is already declared by \S*invitations\/invitations\.ts:\d+\./,
    );
  });
});
