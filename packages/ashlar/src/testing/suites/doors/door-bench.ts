import type { Application } from "../../../boot/index.ts";
import type { RegisteredUser } from "../../../support/index.ts";
import type { TestClient } from "../../client/test-client.ts";
import type { TestResponse } from "../../client/test-response.ts";

/** The name of the step that holds logins back during a test. */
const STEP = "door_suite";

/** A user in front of a door. */
export interface DoorWalk {
  /** The user's browser or API client: a visitor without cookies. */
  readonly client: TestClient;
  readonly user: RegisteredUser;
  /** The email address or name with which the user logs in. */
  readonly identifier: string;
  readonly password: string;
  /** The path of the first of the door's routes that the application has, or else `/`. */
  readonly path: string;
}

/** Sends what users would send to get through a door, and returns the last response. */
export type WalkThrough = (walk: DoorWalk) => Promise<TestResponse>;

/** Whether each application's logins are being held back. */
const held = new WeakMap<Application, { isHeld: boolean }>();

/** Makes all of an application's logins wait for a step that no one can pass, until the returned function is called. */
export function holdLogins(application: Application): () => void {
  let state = held.get(application);
  if (state === undefined) {
    const own = { isHeld: false };
    const step = { check: () => "pending" as const };
    application.container.make("proofs").add({ name: STEP, amr: [], has: () => own.isHeld, step }, "doorSuite");
    held.set(application, own);
    state = own;
  }
  const current = state;
  current.isHeld = true;
  return () => {
    current.isHeld = false;
  };
}

/**
 * Finds out which guards recognize a client after a response, by its cookies or by any text in the response that is
 * accepted as an API token.
 *
 * @returns the names of these guards
 */
export async function recognizedBy(
  application: Application,
  client: TestClient,
  response: TestResponse,
): Promise<readonly string[]> {
  const names = application.container.make("auth").names;
  const found: string[] = [];
  const cookie = client.cookies.header(new URL(application.url));
  const texts = textsIn(response);
  for (const guard of names) {
    const headers = [
      ...(cookie === null ? [] : [{ cookie }]),
      ...texts.map((text) => ({ authorization: `Bearer ${text}` })),
    ];
    for (const one of headers) {
      const request = new Request(application.url, { headers: one });
      Object.defineProperty(request, "ip", { value: "127.0.0.1" });
      const { user } = await application.authenticate(request, { guard, readOnly: true });
      if (user === null) continue;
      found.push(guard);
      break;
    }
  }
  return found;
}

/** The texts in a response's JSON that could be tokens in a header. */
function textsIn(response: TestResponse): readonly string[] {
  const texts: string[] = [];
  const collect = (value: unknown): void => {
    if (typeof value === "string" && /^[\w.~+/=|-]{16,8000}$/.test(value)) texts.push(value);
    else if (typeof value === "object" && value !== null) for (const one of Object.values(value)) collect(one);
  };
  if (/json/.test(response.headers.get("content-type") ?? "")) collect(response.json);
  return texts;
}
