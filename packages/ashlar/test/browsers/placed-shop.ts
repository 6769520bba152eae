import type { Application } from "../../src/boot/index.ts";
import { captureMail, linksIn, type MailCapture } from "../../src/testing/index.ts";
import { bootApplication } from "../support/booted-application.ts";
import { BrowserVisitor } from "./browser-visitor.ts";
import type { BrowserName } from "./what-browsers-send.ts";

export const PASSWORD = "stones and mortar";
/** The page on which a user reads mails, and follows their links. */
export const MAILBOX: URL = new URL("https://mail.elsewhere.test/inbox");

/** An application at a public address, behind a proxy on this machine. */
export class PlacedShop {
  readonly origin: string;
  readonly port: number;
  readonly end: () => Promise<void>;
  readonly #application: Application;
  readonly #mails: MailCapture;
  #count = 0;

  private constructor(
    application: Application,
    origin: string,
    port: number,
    mails: MailCapture,
    end: () => Promise<void>,
  ) {
    this.#application = application;
    this.origin = origin;
    this.port = port;
    this.#mails = mails;
    this.end = end;
  }

  /**
   * @param root its folder, which no other application of this process has
   * @param port where it listens; default: anywhere
   */
  static async open(root: string, origin: string, port = 0): Promise<PlacedShop> {
    const environment = { APP_URL: origin, TRUSTED_PROXIES: "127.0.0.1" };
    const { application, end } = await bootApplication(root, { environment });
    const mails = await captureMail(application);
    const { url } = await application.listen({ port, hostname: "127.0.0.1", handleSignals: false });
    return new PlacedShop(application, origin, Number(new URL(url).port), mails, end);
  }

  /** An address without an account. */
  newAddress(): string {
    return `ada-${++this.#count}@example.com`;
  }

  /** A browser that has not been here, on a network that no other visitor has. */
  visitor(browser: BrowserName): BrowserVisitor {
    return new BrowserVisitor(browser, this, this.newNetwork());
  }

  /** The address of a client that has not been here. */
  newNetwork(): string {
    const number = ++this.#count;
    return `81.${number >> 16}.${(number >> 8) & 255}.${number & 255}`;
  }

  /** A visitor with a new account, who is logged in. */
  async registered(
    browser: BrowserName,
    email: string = this.newAddress(),
    password: string = PASSWORD,
  ): Promise<BrowserVisitor> {
    const visitor = await this.visitor(browser).type("/register");
    return await visitor.press("Register", {
      ...{ Name: "Ada", "Email address": email },
      ...{ Password: password, "Confirm password": password },
    });
  }

  /** A visitor with a new account and a verified address. */
  async verified(browser: BrowserName, email: string = this.newAddress()): Promise<BrowserVisitor> {
    const visitor = await this.registered(browser, email);
    return await visitor.follow(await this.mailed(email, "/email/verify/"), MAILBOX);
  }

  /** How many accounts have an address. */
  async accountsOf(email: string): Promise<number> {
    const { kysely } = this.#application.container.make("database");
    return (await kysely.selectFrom("users").select("email").where("email", "=", email).execute()).length;
  }

  /** The subjects of all mails to an address. */
  async subjectsTo(email: string): Promise<string[]> {
    return (await this.#mails.all()).filter(({ to }) => to === email).map(({ subject }) => subject);
  }

  /** The newest link with a path that was mailed to an address. */
  async mailed(email: string, path: string): Promise<string> {
    const mails = (await this.#mails.all()).filter(({ to }) => to === email);
    const link = mails.flatMap(linksIn).findLast((one) => new URL(one).pathname.startsWith(path));
    if (link === undefined) throw new Error(`No link to ${path} was mailed to ${email}.`);
    return link;
  }
}
