// Requests that are sent in turn, for wrk.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { FOLDER } from "../fixtures.ts";

/** A request with GET. */
export interface PlannedRequest {
  readonly path: string;
  /** The header that identifies the client; none if the client is anonymous. */
  readonly header?: readonly [name: string, value: string];
}

/**
 * Writes a Lua script that sends requests in turn.
 *
 * @param name the script's name, without a suffix
 * @returns the script's path
 */
export async function writeRequests(name: string, requests: readonly PlannedRequest[]): Promise<string> {
  const base = join(FOLDER, `growth-${name}`);
  const lines = requests.map(({ path, header = ["Accept", "*/*"] }) => [path, ...header].join("\t"));
  await writeFile(`${base}.txt`, `${lines.join("\n")}\n`);
  await writeFile(
    `${base}.lua`,
    `local requests, index = {}, 0
function init()
  for line in io.lines(${JSON.stringify(`${base}.txt`)}) do
    local path, name, value = line:match("([^\\t]+)\\t([^\\t]+)\\t([^\\t]+)")
    requests[#requests + 1] = wrk.format("GET", path, { [name] = value })
  end
end
function request()
  index = index % #requests + 1
  return requests[index]
end
`,
  );
  return `${base}.lua`;
}
