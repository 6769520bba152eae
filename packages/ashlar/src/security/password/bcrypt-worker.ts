import { parentPort, workerData } from "node:worker_threads";
import { compareSync } from "bcryptjs";

const { hash, plain } = workerData as { readonly hash: string; readonly plain: string };
parentPort?.postMessage(compareSync(plain, hash));
