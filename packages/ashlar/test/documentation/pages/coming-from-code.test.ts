import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Application } from "../../../src/boot/index.ts";
import { primaryKey, timestamps } from "../../../src/database/index.ts";
import { createTestClient } from "../../../src/testing/index.ts";
import { bootApplication, userClass } from "../../support/booted-application.ts";
import { checkTypes, edit, generateApplication } from "../../support/generated-application.ts";
import { markdownSamples, REPOSITORY } from "../../support/samples.ts";

const PAGES = ["masonite", "laravel", "adonisjs", "express-passport", "better-auth"];
const IMPORTS = `import { type HttpContext, Route } from "ashlar";\nimport { Order } from "../app/models/order.ts";\n`;
const MODEL = `import { Model } from "ashlar/database";

export class Order extends Model {
  static override fillable: readonly string[] = ["number", "note", "user_id"];
  declare id: number;
  declare number: number;
  declare note: string | null;
  declare user_id: number;
}
`;

let application: Application;
let end: () => Promise<void>;
let asAda: () => Promise<ReturnType<typeof createTestClient>>;

/** The calls of `mail` in the tables, such as `mail.queue(new ReceiptMail(…), user.email)`, to be compiled. */
async function mailsOfTables(): Promise<string> {
  const texts = await Promise.all(
    PAGES.map((page) => readFile(join(REPOSITORY, `docs/coming-from/${page}.md`), "utf8")),
  );
  const calls = texts.join("\n").match(/(?<=`)mail\.(?:send|queue)\(new \w+\(…\)[^`]*(?=`)/g) ?? [];
  expect(calls.length).toBeGreaterThan(2);
  const own = calls.filter((call) => !call.includes("Notification"));
  return `import type { HttpContext } from "ashlar";
import type { Mailable } from "ashlar/mail";
import type { User } from "../app/models/user.ts";
declare const ReceiptMail: new () => Mailable;
declare const WelcomeMail: new () => Mailable;
export async function mails({ mail }: HttpContext, user: User): Promise<void> {
${own.map((call) => `  await ${call.replace("…", "")};`).join("\n")}
}
`;
}

/** An application with the code of every page, each under the page's name. */
beforeAll(async () => {
  const { root, remove } = await generateApplication({});
  await mkdir(join(root, "samples"));
  await writeFile(join(root, "app/models/order.ts"), MODEL);
  const imports: string[] = [];
  const routes: string[] = [];
  for (const page of PAGES) {
    const samples = await markdownSamples(`docs/coming-from/${page}.md`);
    const { code } = samples.find(({ language, code }) => language === "ts" && code.includes("const NewOrder"))!;
    const used = code.includes("HttpContext")
      ? IMPORTS.replace(", Route", "")
      : IMPORTS.replace("type HttpContext, ", "");
    await writeFile(join(root, `samples/${page}.ts`), used + code);
    const name = page.replace("-", "");
    const [, exported] = /export (?:class|const) (\w+)/.exec(code)!;
    imports.push(`import { ${exported} as ${name} } from "../samples/${page}.ts";`);
    routes.push(
      exported === "ROUTES"
        ? `...Route.group({ prefix: "/${page}" }, ${name}),`
        : `Route.post("/${page}/orders", [${name}, "store"]).middleware("auth"),`,
    );
  }
  await writeFile(join(root, "samples/mails.ts"), await mailsOfTables());
  await edit(root, "routes/web.ts", ["  ...Api.routes(),", `  ...Api.routes(),\n  ${routes.join("\n  ")}`]);
  const web = join(root, "routes/web.ts");
  await writeFile(web, `${imports.join("\n")}\n${await readFile(web, "utf8")}`);
  await checkTypes(root);
  const booted = await bootApplication(root);
  application = booted.application;
  end = async () => {
    await booted.end();
    await remove();
  };
  const { kysely } = application.container.make("database");
  await kysely.schema
    .createTable("orders")
    .$call(primaryKey(kysely))
    .addColumn("number", "integer")
    .addColumn("note", "text")
    .addColumn("user_id", "integer")
    .$call(timestamps(kysely))
    .execute();
  const User = await userClass(root);
  const ada = new User().fill({ name: "Ada", email: "ada@example.com" });
  await ada.setPassword("a password of hers");
  await ada.markEmailAsVerified();
  asAda = async () => await createTestClient(application).withCsrfToken().actingAs(ada);
}, 300_000);
afterAll(async () => {
  await end?.();
});

test.each(PAGES)("the code in %s.md stores an order for its user, and refuses an invalid number", async (page) => {
  const path = `/${page}/orders`;
  (await (await asAda()).post(path, { number: "7" })).assertJsonContains({ number: 7, user_id: 1 });
  await (await (await asAda()).post(path, { number: "seven" })).assertValidationErrors({
    number: { rule: "invalid_type" },
  });
  (await createTestClient(application).withCsrfToken().post(path, { number: "7" })).assertRedirect("/login");
});
