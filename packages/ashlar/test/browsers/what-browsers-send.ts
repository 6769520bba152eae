// What browsers say about a request: the table that the tests of this folder send by HTTP. `recorded.test.ts` compares the
// rows of Chromium and Firefox with what these really send. The rows of Safari are from WebKit's source, by file.

/** The browsers whose requests differ. Safari 16 before 16.4 sends what Safari 15 does, and knows one more kind of image. */
export type BrowserName = "Chromium" | "Firefox" | "Safari 15" | "Safari 16.4" | "Safari 18";

/** What makes a browser send a request. */
export type RequestKind =
  | "typed URL"
  | "reload"
  | "link"
  | "form"
  | "form in a sandboxed frame"
  | "fetch GET"
  | "fetch POST"
  | "fetch POST without CORS"
  | "image"
  | "prefetch"
  | "speculative prefetch"
  | "prerender";

/** The policies that decide what a page tells about itself. Browsers use the first one for a page without a policy. */
export type ReferrerPolicy = "strict-origin-when-cross-origin" | "no-referrer" | "same-origin";

interface KindOfRequest {
  readonly method: "GET" | "POST";
  readonly mode: "navigate" | "cors" | "no-cors";
  readonly destination: "document" | "iframe" | "empty" | "image";
  /** What the browser asks for. */
  readonly wants: "page" | "page in advance" | "image" | "anything";
  /** Whether the user's own action causes it. */
  readonly isByUser: boolean;
  /** What `Sec-Purpose` says, if the user may never see the answer. */
  readonly purpose?: string;
}

const NAVIGATION = { method: "GET", mode: "navigate", destination: "document", wants: "page", isByUser: true } as const;
const SCRIPT = { mode: "cors", destination: "empty", wants: "anything", isByUser: false } as const;

export const KINDS: Readonly<Record<RequestKind, KindOfRequest>> = {
  "typed URL": NAVIGATION,
  reload: NAVIGATION,
  link: NAVIGATION,
  form: { ...NAVIGATION, method: "POST" },
  "form in a sandboxed frame": { ...NAVIGATION, method: "POST", destination: "iframe" },
  "fetch GET": { ...SCRIPT, method: "GET" },
  "fetch POST": { ...SCRIPT, method: "POST" },
  "fetch POST without CORS": { ...SCRIPT, method: "POST", mode: "no-cors" },
  image: { method: "GET", mode: "no-cors", destination: "image", wants: "image", isByUser: false },
  // <link rel=prefetch>: asks for a page as a navigation does, in Chromium and Firefox.
  prefetch: {
    ...{ method: "GET", mode: "no-cors", destination: "empty", wants: "page", isByUser: false },
    purpose: "prefetch",
  },
  // <script type=speculationrules>
  "speculative prefetch": { ...NAVIGATION, wants: "page in advance", isByUser: false, purpose: "prefetch" },
  prerender: { ...NAVIGATION, wants: "page in advance", isByUser: false, purpose: "prefetch;prerender" },
};

interface Sends {
  readonly accept: Readonly<Record<KindOfRequest["wants"], string>>;
  /** Whether it sends `Sec-Fetch-Site`, `-Mode` and `-Dest` to a trustworthy URL, and `-User` as well. */
  readonly fetchMetadata: "none" | "without the user" | "complete";
  /** Whether a navigation without `Referer` counts as the user's own, `Sec-Fetch-Site: none`, wherever it comes from. */
  readonly takesSilenceForTheUser: boolean;
  /** Whether a navigation says that it can be sent to https instead, even if it already is. */
  readonly upgrades: "always" | "plain http";
  /** Whether `no-referrer` hides the origin of a script's POST without CORS, too. */
  readonly hidesOriginOfScripts: boolean;
  /** Whether a sandboxed frame says which page it is in. */
  readonly sandboxRefers: boolean;
  /** The header that marks a prefetch; `null` if it sends none as it is installed. */
  readonly marksPrefetch: "sec-purpose" | null;
  /** Whether it prefetches and renders pages that a page names in its speculation rules. */
  readonly speculates: boolean;
  /** How it sends the domain that a user types into a field for an address. */
  readonly domains: "in ASCII" | "as typed";
  /** Whether it sends a form's text in NFC, whatever was typed. */
  readonly composes: boolean;
}

const PLAIN_PAGE = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
const PAGE_OF_CHROMIUM =
  "text/html,application/xhtml+xml,application/xml;q=0.9,image/jxl,image/avif,image/webp,image/apng,*/*;q=0.8";

const SAFARI: Sends = {
  // acceptHeaderValueFromType and acceptHeaderValueForImageResource in loader/cache/CachedResourceRequest.cpp
  accept: {
    page: PLAIN_PAGE,
    "page in advance": PLAIN_PAGE,
    image: "image/webp,image/png,image/svg+xml,image/*;q=0.8,video/*;q=0.8,*/*;q=0.5",
    anything: "*/*",
  },
  // Before 16.4 (https://bugs.webkit.org/show_bug.cgi?id=204744): none at all.
  fetchMetadata: "none",
  takesSilenceForTheUser: false,
  // CachedResourceLoader::requestResource in loader/cache/CachedResourceLoader.cpp
  upgrades: "plain http",
  // SecurityPolicy::generateOriginHeader in page/SecurityPolicy.cpp knows no modes.
  hidesOriginOfScripts: true,
  sandboxRefers: false,
  marksPrefetch: null,
  speculates: false,
  // html/EmailInputType.cpp converts nothing.
  domains: "as typed",
  // NFCNormalize::Yes in PAL/pal/text/TextEncoding.cpp
  composes: true,
};

const IMAGES_OF_SAFARI_16 = "image/webp,image/avif,video/*;q=0.8,image/png,image/svg+xml,image/*;q=0.8,*/*;q=0.5";

export const BROWSERS: Readonly<Record<BrowserName, Sends>> = {
  Chromium: {
    accept: {
      page: `${PAGE_OF_CHROMIUM},application/signed-exchange;v=b3;q=0.7`,
      "page in advance": PAGE_OF_CHROMIUM,
      image: "image/jxl,image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8",
      anything: "*/*",
    },
    fetchMetadata: "complete",
    takesSilenceForTheUser: false,
    upgrades: "always",
    hidesOriginOfScripts: false,
    sandboxRefers: false,
    marksPrefetch: "sec-purpose",
    speculates: true,
    domains: "in ASCII",
    composes: false,
  },
  Firefox: {
    accept: {
      page: PLAIN_PAGE,
      "page in advance": PLAIN_PAGE,
      image: "image/avif,image/webp,image/png,image/svg+xml,image/*;q=0.8,*/*;q=0.5",
      anything: "*/*",
    },
    fetchMetadata: "complete",
    takesSilenceForTheUser: false,
    upgrades: "always",
    hidesOriginOfScripts: true,
    sandboxRefers: true,
    marksPrefetch: "sec-purpose",
    speculates: false,
    domains: "as typed",
    composes: false,
  },
  "Safari 15": SAFARI,
  "Safari 16.4": {
    ...SAFARI,
    accept: { ...SAFARI.accept, image: IMAGES_OF_SAFARI_16 },
    // updateRequestFetchMetadataHeaders in loader/cache/CachedResourceLoader.cpp sets three.
    fetchMetadata: "without the user",
    // computeFetchMetadataSite in the same file, as it was: `!request.hasHTTPReferrer()`
    takesSilenceForTheUser: true,
  },
  "Safari 18": {
    ...SAFARI,
    accept: {
      ...SAFARI.accept,
      image: IMAGES_OF_SAFARI_16.replace("video", "image/jxl,image/heic,image/heic-sequence,video"),
    },
    fetchMetadata: "without the user",
  },
};

export const BROWSER_NAMES = Object.keys(BROWSERS) as BrowserName[];

/** How browsers of before, and WebKit, mark a page that its user may never see. */
export const FORMER_MARKS: readonly (readonly [header: string, value: string])[] = [
  // CachedResource::load in loader/cache/CachedResource.cpp of WebKit, for <link rel=prefetch>; Chromium, too
  ["purpose", "prefetch"],
  ["x-moz", "prefetch"],
  // The pictures of pages that Safari shows in a new window
  ["x-purpose", "preview"],
];

/** Where applications are, and whether browsers trust the connection (Secure Contexts §3.1). */
export const PLACES: Readonly<Record<string, string>> = {
  https: "https://shop.example",
  "https, on a subdomain": "https://app.shop.example",
  "plain http on localhost": "http://localhost",
  "plain http with an intranet name": "http://intranet",
  "plain http with a name of the intranet's domain": "http://intranet.corp.example",
};

/** A request that a page causes. */
export interface CausedRequest {
  readonly kind: RequestKind;
  readonly url: URL;
  /** The page that causes it; `null` if the user does, in a new window. */
  readonly page: URL | null;
  /** The page's policy; default: the browsers'. */
  readonly policy?: ReferrerPolicy;
}

/** Returns the headers by which a browser says what a request is, by their lower-case names. */
export function headersOf(browser: BrowserName, request: CausedRequest): Record<string, string> {
  const sends = BROWSERS[browser];
  const { wants, mode, destination, isByUser, purpose } = KINDS[request.kind];
  const [origin, referer] = [originOf(sends, request), refererOf(sends, request)];
  const headers: Record<string, string> = { accept: sends.accept[wants] };
  if (origin !== null) headers.origin = origin;
  if (referer !== null) headers.referer = referer;
  const upgrades = sends.upgrades === "always" || request.url.protocol === "http:";
  if (mode === "navigate" && upgrades) headers["upgrade-insecure-requests"] = "1";
  if (purpose !== undefined && sends.marksPrefetch !== null) headers[sends.marksPrefetch] = purpose;
  if (sends.fetchMetadata === "none" || !isTrustworthy(request.url)) return headers;
  headers["sec-fetch-site"] = siteOf(sends, request, referer);
  headers["sec-fetch-mode"] = mode;
  headers["sec-fetch-dest"] = destination;
  if (isByUser && sends.fetchMetadata === "complete") headers["sec-fetch-user"] = "?1";
  return headers;
}

function isTrustworthy({ protocol, hostname }: URL): boolean {
  return protocol === "https:" || hostname === "localhost" || hostname === "127.0.0.1";
}

/** Fetch §2.2.5 "append a request Origin header". */
function originOf(sends: Sends, { kind, url, page, policy }: CausedRequest): string | null {
  const { method, mode } = KINDS[kind];
  if (page === null) return null;
  const isForeign = page.origin !== url.origin;
  if (mode === "cors") return isForeign || method === "POST" ? page.origin : null;
  if (method === "GET") return null;
  if (kind === "form in a sandboxed frame") return "null";
  if (mode === "no-cors" && !sends.hidesOriginOfScripts) return page.origin;
  const isHidden = policy === "no-referrer" || (policy === "same-origin" && isForeign) || isDowngrade(page, url);
  return isHidden ? "null" : page.origin;
}

/** Referrer Policy §8.3. */
function refererOf(sends: Sends, { kind, url, page, policy }: CausedRequest): string | null {
  if (page === null || policy === "no-referrer" || isDowngrade(page, url)) return null;
  if (kind === "form in a sandboxed frame") return sends.sandboxRefers ? `${page.origin}/` : null;
  if (page.origin === url.origin) return page.href.replace(/#.*/, "");
  return policy === "same-origin" ? null : `${page.origin}/`;
}

function isDowngrade(page: URL, url: URL): boolean {
  return page.protocol === "https:" && url.protocol === "http:";
}

/** Fetch Metadata §2.3. */
function siteOf(sends: Sends, { kind, url, page }: CausedRequest, referer: string | null): string {
  const { mode, purpose } = KINDS[kind];
  if (page === null) return "none";
  // Chromium loads these as if the user had typed their URL.
  if (mode === "navigate" && purpose !== undefined) return "none";
  if (mode === "navigate" && sends.takesSilenceForTheUser && referer === null) return "none";
  // What is sandboxed has an origin of no site.
  if (kind === "form in a sandboxed frame") return "cross-site";
  if (page.origin === url.origin) return "same-origin";
  return page.protocol === url.protocol && domainOf(page) === domainOf(url) ? "same-site" : "cross-site";
}

/** The registrable domain of a name that these tests use. */
function domainOf({ hostname }: URL): string {
  return hostname.split(".").slice(-2).join(".");
}

/** Returns what a browser sends as the text that a user types into a field. */
export function typedText(browser: BrowserName, type: string, text: string): string {
  const { domains, composes } = BROWSERS[browser];
  const sent = composes ? text.normalize("NFC") : text;
  const at = sent.lastIndexOf("@");
  if (type !== "email" || domains === "as typed" || at === -1) return sent;
  return sent.slice(0, at + 1) + new URL(`http://${sent.slice(at + 1)}`).hostname;
}
