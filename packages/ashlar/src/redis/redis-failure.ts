import { AshlarError, certificateProblem } from "../support/index.ts";
import "./errors.ts";

/** The meanings of Redis's error codes. The server's own text may repeat what was sent. */
const REPLIES: Readonly<Record<string, string>> = {
  CLUSTERDOWN: "the cluster doesn't serve this key right now",
  LOADING: "the server is still loading its data",
  MASTERDOWN: "the server has lost its master",
  MISCONF: "the server can't save its data, and refuses to change any",
  NOAUTH: "the server asks for a password",
  NOPERM: "the user may not run this command",
  NOREPLICAS: "the server has too few replicas to accept changes",
  OOM: "the server's memory is full",
  READONLY: "the server is a read-only replica",
  BUSY: "a script keeps the server busy",
  WRONGPASS: "the server refuses the user or the password",
  MOVED: "the key is on another node; for a cluster, the url begins with redis-cluster",
};

/** The reason if Sentinels don't name a reachable server. */
export const NO_SENTINEL = "no Sentinel could name a server that can be reached";

const LOST = "the connection was lost";
const NO_NODE_OF = "no node of the cluster can be reached";

/** The reason if all nodes of a cluster close or refuse the connection without giving a reason. */
export const NO_NODE: string = `${NO_NODE_OF}: ${LOST}`;

/** A failure whose reason is safe to log, such as a timeout. */
export class RedisReason extends Error {}

/**
 * The reason why Redis is unavailable, without any value, key or password. The client's own errors contain the complete
 * command.
 */
export function reasonOf(error: unknown): string {
  if (error instanceof RedisReason) return error.message;
  const { name, message, code, address, port, lastNodeError } = Object(error) as Failure;
  if (lastNodeError !== undefined) return `${NO_NODE_OF}: ${reasonOf(lastNodeError)}`;
  if (typeof code === "string" && /^[A-Z][A-Z\d_]+$/.test(code)) {
    const place = address === undefined ? "" : ` ${address}${port === undefined ? "" : `:${port}`}`;
    return code + place + certificateHint(error);
  }
  const text = String(message);
  const hint = name === "ReplyError" ? "" : certificateHint(error);
  if (hint !== "") return `the server's certificate is refused${hint}`;
  if (name === "ReplyError") return replyReason(text);
  if (text.includes("ETIMEDOUT")) return "no connection was made in time";
  if (text.includes("Socket timeout")) return "the server didn't answer in time";
  if (text.includes("All sentinels are unreachable")) return NO_SENTINEL;
  return LOST;
}

/** The reason in the server's error. Only its error code is used, because the rest of the text may quote a command. */
function replyReason(text: string): string {
  const reply = /^[A-Z]+/.exec(text)?.[0] ?? "ERR";
  return REPLIES[reply] === undefined ? `the server answered ${reply}` : `${REPLIES[reply]} (${reply})`;
}

/** The setting to change if a server's certificate was refused; "" for another error. */
function certificateHint(error: unknown): string {
  const problem = certificateProblem(error);
  if (problem === null) return "";
  return problem === "authority"
    ? "; next to the url, set tls.ca to the file of the authority that has signed the server's certificate"
    : "; next to the url, set tls.servername to a name in the server's certificate";
}

/** The fields of an error from Node, from the client, or from the server. */
interface Failure {
  readonly name?: string;
  readonly message?: string;
  readonly code?: unknown;
  readonly address?: string;
  readonly port?: number;
  readonly lastNodeError?: unknown;
}

/** The error for a command that wasn't executed, or whose response was lost. It contains nothing that was sent. */
export function redisUnavailable(error: unknown): AshlarError {
  return new AshlarError("E_REDIS_UNAVAILABLE", `Redis can't be used: ${reasonOf(error)}.`);
}

/** Whether an error means that a command was not executed, or that its response was lost. */
export function isRedisUnavailable(error: unknown): error is AshlarError {
  return error instanceof AshlarError && error.code === "E_REDIS_UNAVAILABLE";
}
