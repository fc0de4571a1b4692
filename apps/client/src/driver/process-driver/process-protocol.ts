/**
 * Version of the conversation between agent and driver process. Another number means that the two do not understand each other. 1 was gRPC, on
 * which the first question of this one gets no answer.
 */
export const PROCESS_PROTOCOL = 2;
