import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { inEachBrowser } from "../support/real-browsers.ts";
import { type CausingPage, LOADS, Recorder } from "./recorder.ts";
import {
  BROWSERS,
  type CausedRequest,
  headersOf,
  KINDS,
  type ReferrerPolicy,
  type RequestKind,
  typedText,
} from "./what-browsers-send.ts";

const SUBDOMAIN = "https://app.shop.example";
const PLAIN_PLACES = ["http://localhost", "http://intranet"];
const NAMES = ["app.shop.example", "other.shop.example", "intranet", "elsewhere.test"];
const DEFAULT: ReferrerPolicy = "strict-origin-when-cross-origin";

/** The headers that the table is about. Others say nothing of where a request comes from. */
const COMPARED = [
  ...["accept", "origin", "referer", "upgrade-insecure-requests", "sec-purpose", "purpose", "x-moz", "x-purpose"],
  ...["sec-fetch-site", "sec-fetch-mode", "sec-fetch-dest", "sec-fetch-user"],
];

inEachBrowser((name, start) => {
  let browser: Browser;
  let recorder: Recorder;
  let context: BrowserContext;
  // One for all tests: each has its own paths.
  let page: Page;
  let count = 0;

  beforeAll(async () => {
    [browser, recorder] = await Promise.all([start(NAMES), Recorder.start()]);
    context = await browser.newContext({ ignoreHTTPSErrors: true });
    context.setDefaultTimeout(120_000);
    page = await context.newPage();
  });
  afterAll(async () => {
    await browser?.close();
    recorder?.close();
  });

  /** Checks what was sent to a path against the table. */
  async function checkSent(path: string, request: CausedRequest): Promise<void> {
    const { method, headers } = await recorder.next(path);
    const sent = COMPARED.flatMap((header) => (headers[header] === undefined ? [] : [[header, headers[header]]]));
    const what = `${request.kind} to ${request.url.origin} from ${request.page?.href}`;
    expect({ method, ...Object.fromEntries(sent) }, what).toEqual({
      method: KINDS[request.kind].method,
      ...headersOf(name, request),
    });
  }

  /** Opens a page that does something, and returns its URL, and the URL that it sends a request to. */
  async function visit(from: string, to: string, does: CausingPage["does"], policy: ReferrerPolicy = DEFAULT) {
    const url = new URL(`${recorder.at(to)}/sent/${++count}`);
    const source = new URL(recorder.at(from));
    source.search = String(new URLSearchParams({ does, url: url.href, policy }));
    await page.goto(source.href);
    return { url, page: source, policy };
  }

  async function click(kind: "link" | "form", from: string, to: string, policy?: ReferrerPolicy) {
    const sent = await visit(from, to, kind, policy);
    await page.getByText("Go").click();
    await checkSent(sent.url.pathname, { kind, ...sent });
    // Otherwise it would interrupt the next one.
    await page.waitForURL(sent.url.href);
    return sent;
  }

  async function load(from: string, to: string, policy?: ReferrerPolicy): Promise<void> {
    const sent = await visit(from, to, "load", policy);
    for (const [end, kind] of Object.entries(LOADS)) {
      const url = new URL(`${sent.url}${end}`);
      await checkSent(url.pathname, { ...sent, kind, url });
    }
  }

  async function sendFromSandbox(from: string, to: string): Promise<void> {
    const sent = await visit(from, to, "sandboxed form");
    await page.frameLocator("iframe").getByText("Go").click();
    await checkSent(sent.url.pathname, { kind: "form in a sandboxed frame", ...sent });
  }

  /**
   * Opens pages until the browser has sent what they suggest. It is free to decline that, as when it is busy, and a page that
   * was declined is not asked again.
   */
  async function speculated(end: string) {
    for (;;) {
      await page.close();
      page = await context.newPage();
      await page.bringToFront();
      const sent = await visit(SUBDOMAIN, SUBDOMAIN, "speculate");
      const has = () => recorder.has(`${sent.url.pathname}${end}`);
      const isSent = await expect
        .poll(has, { timeout: 10_000 })
        .toBe(true)
        .then(
          () => true,
          () => false,
        );
      if (isSent) return sent;
    }
  }

  test.for([SUBDOMAIN, "https://other.shop.example", "https://elsewhere.test"])(
    "sends the recorded headers to a subdomain over https, from %s",
    async (from) => {
      await click("link", from, SUBDOMAIN);
      await load(from, SUBDOMAIN);
      for (const policy of [DEFAULT, "no-referrer", "same-origin"] as const) {
        await click("form", from, SUBDOMAIN, policy);
      }
      await load(from, SUBDOMAIN, "no-referrer");
      await sendFromSandbox(from, SUBDOMAIN);
    },
  );

  test.for(PLAIN_PLACES)("sends the recorded headers to %s", async (place) => {
    for (const from of [place, "http://elsewhere.test"]) {
      for (const policy of [DEFAULT, "no-referrer"] as const) await click("form", from, place, policy);
    }
    await click("link", place, place);
    await load("http://elsewhere.test", place);
    await sendFromSandbox(place, place);
  });

  test.for([SUBDOMAIN, ...PLAIN_PLACES])("sends the recorded headers to %s when the user navigates", async (place) => {
    const url = new URL(`${recorder.at(place)}/sent/${++count}`);
    for (const kind of ["typed URL", "reload"] satisfies RequestKind[]) {
      await (kind === "reload" ? page.reload() : page.goto(url.href));
      await checkSent(url.pathname, { kind, url, page: null });
    }
  });

  if (BROWSERS[name].speculates) {
    test("sends the recorded headers before the user opens a page", async () => {
      for (const [end, kind] of [
        ["-prefetch", "speculative prefetch"],
        ["-prerender", "prerender"],
      ] as const) {
        const sent = await speculated(end);
        const url = new URL(`${sent.url}${end}`);
        await checkSent(url.pathname, { ...sent, kind, url });
      }
    });
  }

  test("goes back with the first request's headers", async () => {
    const sent = await click("link", SUBDOMAIN, SUBDOMAIN);
    await page.goto(`${recorder.at(SUBDOMAIN)}/`);
    await page.evaluate("history.back()");
    const { "sec-fetch-user": _, ...expected } = headersOf(name, { kind: "link", ...sent });
    expect((await recorder.next(sent.url.pathname)).headers).toMatchObject(expected);
    await page.waitForURL(sent.url.href);
  });

  test("sends typed text as recorded", async () => {
    const typed = { address: "u@bücher.example", text: "e\u0301" };
    const { url } = await visit(PLAIN_PLACES[0]!, PLAIN_PLACES[0]!, "type");
    await page.getByLabel("Address").pressSequentially(typed.address);
    await page.getByLabel("Text").pressSequentially(typed.text);
    await page.getByText("Go").click();
    const { body } = await recorder.next(url.pathname);
    expect(Object.fromEntries(new URLSearchParams(body))).toEqual({
      address: typedText(name, "email", typed.address),
      text: typedText(name, "text", typed.text),
    });
  });
});
