/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * How several commands at once change filters in a Redis, as a model for SPIN.
 *
 * Idea. A filter is a hash with a plan in one slot, and partitions in other slots. A command (build, create, drop, resize,
 * expire) changes them step by step, and no transaction spans the steps. The process may be stopped between any two
 * steps, its lock may expire meanwhile, and the network may deliver a command late or twice. In layout 2 each step is one
 * script that compares before it writes. This model tries every order of all steps, and every such fault at every point.
 *
 *      writer A   writer B   adder   reader             control slot: lock, plan, next, pushing, before, copy
 *          \\         |        |       /
 *           requests -> servers and network  -------->   partition of generation 1 .. 5: footer, bits, expiry, stamp
 *                       |   ^
 *                      late (commands of connections that were closed)
 *
 * A command to the servers is (operation, token, plan, generation, value). One of these happens to it:
 * - it is carried out, and the reply arrives;
 * - it is carried out, and the reply is lost;
 * - it stays in `late` and is carried out at any later time, or never.
 * After a lost reply the sender sends the command again, so that it may be carried out twice, or gives up.
 *
 * What the model leaves out, and why that hides no fault:
 * - A filter has one partition. A key is in one partition; others of its generation could only add failures, and any step
 *   may fail here too, by a lost reply.
 * - A build has one chunk, and a resize one BITOP. The footer is FULL once all of them were carried out.
 * - A client reads the state itself. A slow reply is the same as a client that stops after the reply.
 * - There is no time: a lock may expire whenever it is held, and a string that expires vanishes. A killed process is never
 *   scheduled again. All properties but I3 are checked in every state, so they hold for kills too.
 * - Two connections have no order. A real connection keeps its order, so the model allows more than can happen.
 * - FAULTS, EVICT and FAILOVER are bounded by the tests that call run.bash.
 *
 * Properties:
 * I1. A batch that counts finds every acknowledged key. A command changes the plan once, while it runs or after it reported
 *     "unknown".
 * I2. A plan names partitions that are sealed, or that vanished by themselves. No command deletes them or lets them expire.
 * I3. When all commands have ended, each string without an expiry is in the plan or in a record, or a command reported that
 *     it may have left it.
 * I4. A command that reports success or failure reports what happened.
 * A failover may lose the last writes. Then I1 is checked for older keys only, and I2 and I3 are not checked.
 *
 * F_... removes a guard, see planted.sh: a model that finds no violation then would prove nothing. -DLAYOUT1 removes most.
 *
 * References: G. Holzmann, The SPIN Model Checker, 2003 (spinroot.com); M. Kleppmann, How to do distributed locking, 2016, for
 * locks that expire and fencing tokens; L. Lamport, Time, Clocks, and the Ordering of Events, 1978. docs/REDIS-LAYOUT.md.
 */

#define NONE 0
/* Commands that a user may give. */
#define BUILD 1
#define CREATE 2 /* add ?expect= */
#define DROP 3
#define RESIZE 4
#define EXPIRE 5
#define PERSIST 6
#define DROP_FULL 7 /* a drop on a server that is full: it has no lock */

/* ---- the run: every value is set by -D ---- */

#ifndef A1
#define A1 NONE /* first command of writer A */
#endif
#ifndef A2
#define A2 NONE /* and its second */
#endif
#ifndef B1
#define B1 NONE
#endif
#ifndef B2
#define B2 NONE
#endif
#ifndef ADDS
#define ADDS 0 /* 1: an adder adds one key */
#endif
#ifndef RENEWS
#define RENEWS 0 /* 1: the adder has a time to live, and gives it to the partitions of `next` too */
#endif
#ifndef READS
#define READS 0 /* 1: a reader looks up one batch */
#endif
#ifndef EMPTY
#define EMPTY 0 /* 1: there is no filter at the start */
#endif
#ifndef TTL
#define TTL 0 /* 1: the filter at the start has an expiry */
#endif
#ifndef FAULTS
#define FAULTS 0 /* replies or commands that the network loses or delays */
#endif
#ifndef LOCK_ENDS
#define LOCK_ENDS 1 /* 1: the lock may expire at any time */
#endif
#ifndef EVICT
#define EVICT 0 /* strings of partitions that vanish */
#endif
#ifndef EVICT_HASH
#define EVICT_HASH 0 /* 1: the hash may vanish, once; 2: the hash and the copy together */
#endif
#ifndef FAILOVER
#define FAILOVER 0 /* 1: the server of the control slot loses a suffix of its writes; 2: that of a partition */
#endif
#ifndef LATE
#define LATE 1 /* delayed commands in the network at one time */
#endif
#ifndef EXPIRES
#define EXPIRES 0 /* 1: a hash with an expiry may reach it */
#endif

#ifndef LEAKS
#define LEAKS 1 /* 0: I3 is not checked, so that a run finds another violation */
#endif

#ifdef LAYOUT1
#define F_SWITCH
#define F_DROP
#define F_FOOTER
#define F_CHUNK
#define F_EXPIRE
#define F_CREATE
#define F_TOKEN
#define F_OUTCOME
#define F_COPY
#define F_SCAN
#endif

/* ---- state of the servers ---- */

#define GENERATIONS 6 /* 0: none; 1: the filter at the start; 2 to 5: of commands 0 to 3 */

/* What a reader finds where the footer of a partition belongs. */
#define MISSING 0 /* there is no string */
#define BARE 1    /* a string without footer, made by a BITFIELD */
#define FILLING 2 /* of send 1; 3: of send 2 */
#define FULL 4    /* the same with all of its content; 5: of send 2 */
#define SEALED 6

/* Expiry of a string. */
#define STAYS 0
#define USER 1  /* set by the user */
#define HOUR 2  /* of an unsealed partition */
#define GRACE 3 /* 60 s of a replaced partition, for batches under way */

/* Bits of a partition. */
#define BASE 1 /* the keys of a build */
#define KEY 2  /* the key of the adder */

byte lock, plan, next, next_send, pushing, before, copy;
bit hash_ttl, copy_ttl;
byte foot[GENERATIONS], bits[GENERATIONS], ttl[GENERATIONS], stamp[GENERATIONS];
#ifdef F_CREATE
byte state;
#define READY (state == plan) /* else each process that opens the filter makes its partitions */
#else
#define READY 1
#endif

/* ---- state of the properties; no command reads it ---- */

#define RUNNING 0
#define SUCCESS 1
#define FAILED 2  /* exit 2, "nothing was changed" */
#define UNKNOWN 3 /* exit 2, "the outcome is unknown" */
#define IDLE 4    /* never given */

byte outcome[4];  /* of commands 0 to 3 */
bit changed[4];   /* it changed the plan */
byte must;        /* bits that a batch has to find */
byte evicted;     /* generations of which a string vanished by itself: a mask */
bit wants_ttl;    /* the user's last choice of an expiry for the current filter */
byte key_lost; /* KEY: the add itself is in the suffix that a failover lost */
bit hash_evicted, failed_over, unanswered_add;
byte retired; /* generations that were retired: a mask */
byte dropped; /* generations that a drop took out of the plan: a mask */
byte reported; /* a mask: generations whose strings a command may have left, as it reported, because a reply was lost */
byte alive; /* processes that have not ended */

/* Names of the properties, always false: a failed assertion prints its name. */
bit I1_acknowledged_key_reads_absent, I1_plan_changed_by_an_ended_command, I1_command_changed_the_plan_twice, I1_lock_of_another_removed;
bit I2_plan_without_its_partitions, I2_plan_whose_partitions_expire, I2_live_partition_removed;
bit I3_leak_without_a_record, I3_copy_outlives_the_hash;
bit I4_failed_but_changed, I4_success_but_not_done, I4_expiry_undone, I4_expiry_of_another, I4_creation_refused_after_a_drop;
#define HOLDS(name, condition) assert(name || (condition))

/* ---- messages ---- */

mtype = { LOCK, UNLOCK, RENEW, END_NEXT, DELETE, RETIRE, ANNOUNCE, MAKE, FILL, SEAL, SWITCH, SET_NEXT, KEEP, UNITE,
          DROP_PLAN, FORGET_BEFORE, FORGET_PUSHING, FORGET_NEXT, EXPIRE_HASH, EXPIRE_BITS, ADD, GRACE_BITS, RENEW_NEXT,
          SET_PLAN_ONCE, SET_STATE, END };

#define NO 0
#define OK 1
#define LOST 2 /* no reply */

chan requests = [0] of { mtype, byte, byte, byte, byte };
chan reply = [0] of { byte };
chan late = [LATE] of { mtype, byte, byte, byte, byte };
byte faults = FAULTS;

/* ---- properties of every state ---- */

inline check_state() {
    if
    :: plan != 0 && READY && foot[plan] == SEALED ->
        HOLDS(I1_acknowledged_key_reads_absent, (must & ~bits[plan]) == 0);
        HOLDS(I2_plan_whose_partitions_expire, failed_over || ttl[plan] == STAYS || (ttl[plan] == USER && hash_ttl))
    :: plan != 0 && READY && foot[plan] != SEALED ->
        HOLDS(I2_plan_without_its_partitions, failed_over || (evicted & (1 << plan)))
    :: else
    fi;
    HOLDS(I4_expiry_of_another, plan == 0 || !hash_ttl || wants_ttl);
    HOLDS(I4_expiry_undone, plan == 0 || hash_ttl || !wants_ttl);
    check_leaks()
}

inline check_leak(g) {
    HOLDS(I3_leak_without_a_record, foot[g] == MISSING || ttl[g] != STAYS || plan == g || next == g ||
          pushing == g || before == g || copy == g || (reported & ~retired & (1 << g)) || (foot[g] == BARE && (unanswered_add || (evicted & (1 << g)))))
}

/* Checked when all processes have ended. A hash that vanished, or was set back by a failover, lost its records too. */
inline check_leaks() {
    if
    :: LEAKS && alive == 0 && !failed_over && hash_evicted -> check_leak(1)
    :: LEAKS && alive == 0 && !failed_over && !hash_evicted ->
        check_leak(1); check_leak(2); check_leak(3); check_leak(4); check_leak(5)
    :: else
    fi
}

/* ---- the servers ---- */

#define command_of(g) (g - 2)

/* The plan becomes `p` by command `c`. */
inline change_plan(c, p) {
    HOLDS(I1_plan_changed_by_an_ended_command, failed_over || outcome[c] == RUNNING || outcome[c] == UNKNOWN);
    HOLDS(I1_command_changed_the_plan_twice, failed_over || !changed[c]);
    changed[c] = 1;
    plan = p
}

inline remove_string(g) {
    HOLDS(I2_live_partition_removed, failed_over || plan != g);
    foot[g] = MISSING; bits[g] = 0; ttl[g] = STAYS; stamp[g] = 0
}

inline switch_to(g, p, kind) {
    change_plan(command_of(g), g);
    before = p; pushing = 0; next = 0; copy = g;
#ifdef F_CREATE
    state = g;
#endif
    if
    :: kind == BUILD -> must = BASE
    :: else /* a resize has all keys; a created filter has none */
    fi;
    if
    :: p == 0 -> wants_ttl = 0
    :: else
    fi;
#ifdef F_TTL
    copy_ttl = 0
#else
    hash_ttl = (ttl[g] == USER); copy_ttl = hash_ttl
#endif
}

inline end_process(what, op, c, how) {
    alive--;
    if
    :: c < 4 ->
        reported = reported | ((what == UNKNOWN || (how & 2)) << (c + 2)) | (1 << (how >> 2));
#ifndef LAYOUT1 /* in layout 1 it would hide worse violations */
        HOLDS(I4_failed_but_changed, failed_over || what != FAILED || !changed[c]);
#endif
        HOLDS(I4_success_but_not_done, failed_over || what != SUCCESS || changed[c] || op == EXPIRE || op == PERSIST || op == CREATE ||
              ((op == DROP || op == DROP_FULL) && (how & 1)));
        outcome[c] = what
    :: else
    fi
}

/* One command at one instant. t, p, g, u: token, plan, generation and value. */
inline carry_out(o, t, p, g, u) {
    ok = NO;
    if
    :: o == LOCK && lock == 0 -> lock = t; ok = OK
#ifdef F_RELEASE
    :: o == UNLOCK -> HOLDS(I1_lock_of_another_removed, lock == 0 || lock == t); lock = 0; ok = OK
#else
    :: o == UNLOCK && lock == t -> lock = 0; ok = OK
#endif
    :: o == RENEW && lock == t && plan == p -> ok = OK
    :: o == END_NEXT && lock == t && plan == p -> next = 0; ok = OK
    :: o == DELETE -> remove_string(g); ok = OK
#ifdef F_RETIRE_PLAIN
    :: o == RETIRE && foot[g] != MISSING -> retired = retired | (1 << g); ttl[g] = GRACE; ok = OK
#else
    :: o == RETIRE && foot[g] != MISSING -> retired = retired | (1 << g); stamp[g] = 255; ttl[g] = GRACE; ok = OK
#endif
    :: o == ANNOUNCE && lock == t && plan == p && pushing == u -> pushing = g; ok = OK
#ifdef F_FOOTER /* the footer has one form, and SETRANGE writes it over anything */
    :: o == MAKE -> foot[g] = SEALED; ok = OK
    :: o == SEAL && foot[g] == SEALED -> ttl[g] = u; ok = OK
    :: o == UNITE && foot[g] == SEALED -> bits[g] = bits[g] | u; ok = OK
    :: o == KEEP && foot[g] == SEALED -> ttl[g] = STAYS; ok = OK
#else
    :: o == MAKE && foot[g] == MISSING -> foot[g] = (t == 0 -> FULL : FILLING) + u - 1; bits[g] = 0; ttl[g] = HOUR; ok = OK
#ifdef F_SEAL /* the footer does not count: the seal knows nothing of the content */
    :: o == SEAL && (foot[g] == FILLING + t - 1 || foot[g] == FULL + t - 1) -> foot[g] = SEALED; ttl[g] = u; ok = OK
#else
    :: o == SEAL && foot[g] == FULL + t - 1 -> foot[g] = SEALED; ttl[g] = u; ok = OK
#endif
    :: o == UNITE && foot[g] == FILLING + t - 1 -> bits[g] = bits[g] | u; foot[g] = FULL + t - 1; ok = OK
    :: o == KEEP && foot[g] == FILLING + t - 1 -> ttl[g] = STAYS; ok = OK
#endif
#ifdef F_CHUNK /* SETRANGE writes over what is there, or makes a string without footer */
    :: o == FILL -> foot[g] = (foot[g] == MISSING -> BARE : (foot[g] == FILLING + t - 1 -> FULL + t - 1 : foot[g]));
        bits[g] = BASE; ok = OK
#elif defined(F_FOOTER)
    :: o == FILL && foot[g] == SEALED -> bits[g] = BASE; ok = OK
#else
    :: o == FILL && foot[g] == FILLING + t - 1 -> bits[g] = BASE; foot[g] = FULL + t - 1; ok = OK
#endif
#if defined(F_SWITCH) || defined(F_RESENT)
    :: o == SWITCH -> switch_to(g, p, u); ok = OK
#else
    :: o == SWITCH && lock == t && plan == p && pushing == g && (u != RESIZE || next == g) ->
        switch_to(g, p, u); ok = OK
#endif
    #ifdef F_NEXT /* all sends have the same value */
    :: o == SET_NEXT && lock == t && plan == p && pushing == g -> next = g; next_send = 1; ok = OK
#else
    :: o == SET_NEXT && lock == t && plan == p && pushing == g && next == 0 -> next = g; next_send = u; ok = OK
#endif
#if defined(F_DROP) || defined(F_DROP_RESENT)
    :: o == DROP_PLAN && plan != 0 ->
#else
    :: o == DROP_PLAN && lock == t && plan == p ->
#endif
        if
        :: p != 0 -> before = p; dropped = dropped | (1 << p); change_plan(command_of(g), 0)
        :: else
        fi;
        plan = 0; next = 0; copy = 0; must = 0; copy_ttl = 0; ok = OK
#ifdef F_CREATE
        ; state = 0
#endif
    :: o == FORGET_BEFORE && before == p -> before = 0; ok = OK
    :: o == FORGET_PUSHING && pushing == g -> pushing = 0; ok = OK
    :: o == FORGET_NEXT && next == g -> next = 0; ok = OK
#ifdef F_EXPIRE /* plain commands */
    :: o == EXPIRE_HASH -> hash_ttl = u; copy_ttl = u; wants_ttl = u; ok = OK
    :: o == EXPIRE_BITS && foot[g] != MISSING -> ttl[g] = u; ok = OK
#else
    :: o == EXPIRE_HASH && lock == t && plan == p -> hash_ttl = u; copy_ttl = u; wants_ttl = u; ok = OK
    :: o == EXPIRE_BITS && foot[g] == SEALED && stamp[g] == p -> stamp[g] = t; ttl[g] = u; ok = OK
#endif
    :: o == ADD -> foot[g] = (foot[g] == MISSING -> BARE : foot[g]); bits[g] = bits[g] | KEY; ok = OK
    :: o == GRACE_BITS && foot[g] != MISSING -> ttl[g] = GRACE; ok = OK
#ifdef F_RENEW_NEXT
    :: o == RENEW_NEXT && foot[g] != MISSING -> ttl[g] = USER; ok = OK
#else
    :: o == RENEW_NEXT && foot[g] >= FILLING && foot[g] < SEALED -> ttl[g] = USER; ok = OK
#endif
#ifdef F_CREATE
    :: o == SET_PLAN_ONCE && plan == 0 -> change_plan(command_of(g), g); copy = g; hash_ttl = 0; copy_ttl = 0; wants_ttl = 0; ok = OK
#endif
#ifdef F_CREATE
    :: o == SET_STATE -> state = g; ok = OK
#endif
    :: else
    fi;
    printf("%e token=%d plan=%d generation=%d value=%d: %d\n", o, t, p, g, u, ok)
}

/* The servers and the network: a command is carried out and answered; or its reply is lost; or the client closes the
 * connection, which delivers the command later or never. */
proctype servers() {
    mtype o;
    byte t, p, g, u, ok;
end: do
    :: atomic {
        requests?o, t, p, g, u;
        if
        :: d_step { o == END -> end_process(t, p, g, u); check_state() }
        :: d_step { o != END -> carry_out(o, t, p, g, u); check_state() }
        :: d_step { faults > 0 && o != END -> faults--; unanswered_add = unanswered_add || o == ADD || o == GRACE_BITS; printf("no reply: "); carry_out(o, t, p, g, u); check_state(); ok = LOST }
        :: faults > 0 && o != END && nfull(late) ->
            faults--; late!o, t, p, g, u; ok = LOST; unanswered_add = unanswered_add || o == ADD || o == GRACE_BITS;
            printf("delayed: %e token=%d plan=%d generation=%d value=%d\n", o, t, p, g, u)
        fi;
        reply!ok;
        d_step { o = 0; t = 0; p = 0; g = 0; u = 0; ok = 0 }
    }
#if FAULTS
    :: atomic {
        late?o, t, p, g, u;
        d_step { printf("late: "); carry_out(o, t, p, g, u); check_state(); o = 0; t = 0; p = 0; g = 0; u = 0; ok = 0 }
    }
#endif
    od
}

/* ---- the network ---- */

/* A client sends a command until it has a reply or gives up: `result`. `unconfirmed`: an earlier sending may have been
 * carried out, or may be later. */
inline send_once(o, t, p, g, u) {
    requests!o, t, p, g, u;
    reply?result;
    if
    :: result == LOST -> unconfirmed = 1
    :: else
    fi
}

inline send(o, t, p, g, u) {
    unconfirmed = 0;
    do
    :: atomic {
        send_once(o, t, p, g, u);
        if
        :: result != LOST -> break
        :: else
        fi
    }
    if
    :: skip /* again, the same bytes */
    :: break
    fi
    od
}

/* ---- commands of a user ---- */

inline release() { send(UNLOCK, T, 0, 0, 0) }

inline leave(c, what, op, is_done) { atomic { requests!END, what, op, c, is_done; reply?_ } }

/* A record remains until the delete is confirmed. */
#define delete_strings(g, where) \
    send(DELETE, 0, 0, g, 0); \
    if \
    :: result == LOST -> goto where \
    :: else \
    fi

#define retire_strings(g, where) \
    send(RETIRE, 0, 0, g, 0); \
    if \
    :: result == LOST -> goto where \
    :: else \
    fi

/* A mask: generations with a string that has a footer and no expiry. */
#define stays(g) ((foot[g] == SEALED && ttl[g] == STAYS) << g)
#define STAYING (stays(1) | stays(2) | stays(3) | stays(4) | stays(5))

/* Reports to the user, and ends. `is_gone` matters only for drops. */
#define finish(what) outcome_is = what; goto ended

proctype command(byte op; byte c; byte after) {
    byte G = c + 2, T, P, N, U, B, C, r, s, sends, result, older, outcome_is, halfway, sent_next, left_strings;
    bit unconfirmed, is_gone, left, hash_had_ttl, is_released;

    (after == 4 || outcome[after] != RUNNING);

#ifdef F_CREATE
    if
    :: op == CREATE ->
        send(SET_PLAN_ONCE, 0, 0, G, 0);
        if
        :: atomic { result == LOST -> finish(FAILED) }
        :: else
        fi;
        atomic { P = plan };
        if
        :: atomic { P != G -> finish(SUCCESS) }
        :: else
        fi;
        send(MAKE, 1, 0, G, 1);
        send(SET_STATE, 0, 0, G, 0);
        finish(SUCCESS)
    :: else
    fi;
#endif

#ifdef F_EXPIRE
    if
    :: op == EXPIRE || op == PERSIST -> goto expire
    :: else
    fi;
#endif

    /* 1 acquire, and read */
acquire:
    unconfirmed = 0;
    if
    :: op == DROP_FULL -> T = 0; (lock == 0)
    :: else ->
        do
        :: atomic {
            lock == 0 || unconfirmed ->
#ifdef F_TOKEN
                T = 1 + 4 * c; /* a command has one token */
#else
                T = 1 + 4 * c + sends;
#endif
                sends++;
                send_once(LOCK, T, 0, 0, 0)
            }
            if
            :: result == OK -> break
#ifdef F_TOKEN
            :: result != OK && unconfirmed && lock == T -> break
            :: result == NO -> finish(FAILED)
#else
            :: result == NO -> finish(FAILED)
#endif
            :: result == LOST && sends < (r == 0 -> 2 : 4) /* again, by another token */
            :: result == LOST -> finish(FAILED)
            fi
        od
    fi;
    unconfirmed = 0;
    if
    :: op == RESIZE && r != 0 -> goto resize_end
    :: else
    fi;
    atomic { P = plan; N = next; U = pushing; B = before; C = copy; hash_had_ttl = hash_ttl && plan != 0 };
    if
    :: op == EXPIRE || op == PERSIST -> goto expire
    :: (op == CREATE && P != 0) -> release(); finish(SUCCESS)
#ifndef F_COPY
    :: (op == CREATE && P == 0 && C != 0) -> release(); finish(FAILED)
#endif
    :: op == RESIZE && P == 0 -> release(); finish(FAILED)
    :: (op == DROP || op == DROP_FULL) && P == 0 && C == 0 && B == 0 && U == 0 -> release(); finish(FAILED)
    :: else
    fi;

    /* A creation: partitions that nothing names show that hash and copy were lost. A drop removes its record last, so a
     * partition that is still there after the records were read is not being dropped. */
#ifndef F_SCAN
    if
    :: op == CREATE ->
        atomic { left_strings = STAYING };
#ifndef F_SCAN_ORDER
        atomic { left_strings = left_strings & ~(1 << plan | 1 << next | 1 << pushing | 1 << before | 1 << copy) };
        atomic { left_strings = left_strings & STAYING };
#else
        atomic { left_strings = left_strings & STAYING };
        atomic { left_strings = left_strings & ~(1 << plan | 1 << next | 1 << pushing | 1 << before | 1 << copy) };
#endif
        if
        :: left_strings != 0 ->
            HOLDS(I4_creation_refused_after_a_drop, hash_evicted || failed_over || (left_strings & dropped & ~reported) == 0);
            left_strings = 0; release(); finish(FAILED)
        :: else
        fi
    :: else
    fi;
#endif

    /* 2 end the resize of another command; this also proves that the hash was read while the lock was held */
#ifndef F_NO_FENCE_BEFORE_DELETE
    send(END_NEXT, T, P, 0, 0);
    if
    :: result == OK
    :: else -> goto given_up
    fi;
#endif

    /* 3 remove leftovers of earlier commands */
    if
    :: U != 0 && U != P -> delete_strings(U, given_up)
    :: else
    fi;
    if
    :: N != 0 && N != P && N != U -> delete_strings(N, given_up)
    :: else
    fi;
    if
    :: B != 0 && B != P && (op == DROP || op == DROP_FULL) -> delete_strings(B, given_up)
    :: B != 0 && B != P && op != DROP && op != DROP_FULL -> retire_strings(B, given_up)
    :: else
    fi;
#ifndef F_COPY_LEAK
    if
    :: C != 0 && C != P && (op == DROP || op == DROP_FULL) -> delete_strings(C, given_up)
    :: C != 0 && C != P && op != DROP && op != DROP_FULL -> retire_strings(C, given_up)
    :: else
    fi;
#endif
    if
    :: op == DROP || op == DROP_FULL -> goto drop
    :: else
    fi;

    /* 4 announce */
    send(ANNOUNCE, T, P, G, U);
    if
    :: result == OK || (result == NO && unconfirmed && pushing == G)
    :: else -> goto given_up
    fi;

    /* 5 make: each sending has its own number. The token of MAKE is 0 if no content follows. */
    r = 0;
    unconfirmed = 0;
    do
    :: atomic { r < 2 -> r++; send_once(MAKE, op != CREATE, 0, G, r) }
        if
        :: result == OK -> break
        :: result == NO ->
            atomic {
                if
                :: unconfirmed && (foot[G] == FILLING || foot[G] == FULL) -> r = 1
                :: unconfirmed && (foot[G] == FILLING + 1 || foot[G] == FULL + 1) -> r = 2
#ifdef F_FOOTER
                :: unconfirmed && foot[G] == SEALED
#endif
                :: else -> goto given_up
                fi
            };
            break
        :: result == LOST /* again */
        :: result == LOST -> goto given_up
        fi
    :: r == 2 -> goto given_up
    od;
    if
    :: op == RESIZE -> goto resize_begin
    :: else
    fi;

    /* 6 fill; 7 is in the footer */
    if
    :: op == BUILD ->
        send(FILL, r, 0, G, 0);
        if
        :: result == OK || (result == NO && unconfirmed) /* the seal will show whether it was filled */
        :: else -> goto given_up
        fi
    :: else
    fi;

seal: /* 8, 9 */
    send(SEAL, r, 0, G, hash_had_ttl);
    if
    :: result != LOST && foot[G] == SEALED
    :: else -> goto given_up
    fi;

    /* 10 switch */
#ifdef F_SWITCH
    if
    :: atomic { lock == T -> P = plan }
    :: lock != T -> goto given_up
    fi;
#endif
#ifdef F_RESENT /* checked at the first sending, at the same instant */
    atomic {
        if
        :: lock == T && plan == P && pushing == G -> send_once(SWITCH, T, P, G, op)
        :: else -> goto given_up
        fi
    };
    if
    :: result == LOST -> send(SWITCH, T, P, G, op)
    :: else
    fi;
#else
    send(SWITCH, T, P, G, op);
#endif
#ifdef F_RETIRE
    retire_strings(P, out);
#endif
    /* 11 to 13 */
    if
    :: result != LOST && plan == G ->
        if
        :: P != 0 ->
            send(RETIRE, 0, 0, P, 0);
            if
            :: result == LOST -> halfway = P
            :: else
            fi
        :: else
        fi;
out:
        release();
        finish(SUCCESS)
    :: else
    fi;

    if
    :: result == NO && !unconfirmed -> goto given_up /* it was carried out once, and its guard refused it */
    :: else
    fi;

    /* The outcome of a switch that was sent. Once the lock is released, no delayed switch can take effect. */
#ifdef F_DELOWN
    if
    :: plan != G -> send(DELETE, 0, 0, G, 0); finish(UNKNOWN)
    :: else
    fi;
#endif
    release();
#ifdef F_UNRELEASED
    if
    :: atomic { result == LOST -> finish(UNKNOWN) }
    :: else
    fi;
#endif
    is_released = (result != LOST);
    atomic { s = plan; B = before };
    if /* the old generation is dead, and this may be its only record: the hash may be gone */
    :: s != P && P != 0 ->
        send(RETIRE, 0, 0, P, 0);
        if
        :: result == LOST -> halfway = P
        :: else
        fi
    :: else
    fi;
    if
    :: s == G -> finish(SUCCESS)
    :: s != G && !is_released -> halfway = P; finish(UNKNOWN) /* the message says that P may be left */
    :: else
    fi;
    send(DELETE, 0, 0, G, 0);
    if
    :: result != LOST -> send(FORGET_PUSHING, 0, 0, G, 0)
    :: else -> left = 1
    fi;
    if
#ifdef F_OUTCOME
    :: finish(FAILED)
#else
    :: B == G -> finish(SUCCESS)
    :: s == P && P != 0 && B != G -> finish(FAILED)
    :: else -> finish(UNKNOWN)
#endif
    fi;

    /* ---- before the switch was sent ---- */
given_up:
    if
    :: op == DROP_FULL -> finish(FAILED)
    :: else
    fi;
    send(UNLOCK, T, 0, 0, 0);
    if
    :: op == DROP || op == EXPIRE || op == PERSIST -> finish(FAILED)
    :: op == RESIZE && result == LOST -> left = 1; finish(FAILED) /* `next` may still be set; every generation has a record */
    :: else
    fi;
#ifndef F_ORDER
    if
    :: op == RESIZE ->
        send(FORGET_NEXT, 0, 0, G, 0);
        if
        :: result == LOST -> left = 1; finish(FAILED)
        :: else
        fi
    :: else
    fi;
#endif
    send(DELETE, 0, 0, G, 0);
    if
    :: result != LOST -> send(FORGET_PUSHING, 0, 0, G, 0)
    :: else -> left = 1
    fi;
#ifdef F_ORDER
    if
    :: op == RESIZE -> send(FORGET_NEXT, 0, 0, G, 0)
    :: else
    fi;
#endif
    finish(FAILED);

    /* ---- resize ---- */
resize_begin:
    unconfirmed = 0;
    do
    :: atomic { sent_next < 2 -> sent_next++; send_once(SET_NEXT, T, P, G, sent_next) }
        if
        :: result == OK -> break
        :: result == NO ->
            atomic {
                if
                :: unconfirmed && next == G -> sent_next = next_send
                :: else -> goto given_up
                fi
            };
            break
        :: result == LOST /* again */
        :: result == LOST -> goto given_up
        fi
    :: sent_next == 2 -> goto given_up
    od;
    send(KEEP, r, 0, G, 0);
    if
    :: result != LOST
    :: else -> goto given_up
    fi;
    release();
    older = must; /* the user's list of all that was added so far */
    goto acquire;
resize_end:
    atomic { P = plan; N = next; hash_had_ttl = hash_ttl && plan != 0 };
    if
#ifdef F_NEXT
    :: N != G -> goto given_up
#else
    :: N != G || next_send != sent_next -> goto given_up
#endif
    :: else
    fi;
    send(UNITE, r, 0, G, older);
    if
    :: result == OK || (result == NO && unconfirmed)
    :: else -> goto given_up
    fi;
    goto seal;

    /* ---- drop ---- */
drop:
#ifdef F_DROP
    if
    :: lock == T
    :: lock != T -> finish(FAILED)
    fi;
    P = (plan == 0 -> 0 : P);
#endif
#ifdef F_DROP_RESENT
    atomic {
        if
        :: lock == T && plan == P -> send_once(DROP_PLAN, T, P, G, 0)
        :: else -> finish(FAILED)
        fi
    };
    if
    :: result == LOST -> send(DROP_PLAN, T, P, G, 0)
    :: else
    fi;
#else
    send(DROP_PLAN, T, P, G, 0);
#endif
    atomic { is_gone = (result != LOST && plan == 0) };
    if
    :: is_gone ->
        if
        :: P != 0 -> delete_strings(P, drop_recorded)
        :: else
        fi;
        send(FORGET_BEFORE, 0, P, 0, 0);
        if
        :: U != 0 -> send(FORGET_PUSHING, 0, 0, U, 0)
        :: else
        fi;
drop_recorded:
        if
        :: op == DROP -> release()
        :: else
        fi;
        finish(SUCCESS)
    :: !is_gone && result == NO && !unconfirmed -> release(); finish(FAILED)
    :: else
    fi;
    if
    :: op == DROP_FULL -> finish(UNKNOWN)
    :: else
    fi;
    release();
    if
    :: result != LOST && plan == P -> finish(FAILED)
    :: else -> finish(UNKNOWN)
    fi;

    /* ---- expire, persist: if the filter lives longer, partitions first; else the hash first ---- */
expire:
    if
    :: P == 0 -> P = plan
    :: else
    fi;
    if
    :: P == 0 -> goto given_up
    :: else
    fi;
    sends = 0;
    if
    :: op == PERSIST -> goto expire_bits
    :: else
    fi;
expire_hash:
    send(EXPIRE_HASH, T, P, 0, op == EXPIRE);
    if
    :: result == OK
    :: else -> goto expire_lost
    fi;
    if
    :: op == PERSIST -> goto expire_done
    :: else
    fi;
expire_bits:
    do
    :: sends < 2 ->
        atomic { s = stamp[P]; sends++ };
#ifndef F_EXPIRE
#ifndef F_STAMP
        send(RENEW, T, P, 0, 0);
        if
        :: result == OK && s != 255
        :: else -> goto expire_lost
        fi;
#endif
#endif
        send(EXPIRE_BITS, 2 * c + sends, s, P, op == EXPIRE);
        if
        :: result == OK -> break
        :: result == NO && stamp[P] == 2 * c + sends -> break
        :: result == LOST -> goto expire_lost
        :: else
        fi
    :: sends == 2 -> goto expire_lost
    od;
    if
    :: op == PERSIST -> goto expire_hash
    :: else
    fi;
    goto expire_done;
expire_lost: /* half done: if the filter is gone, retire its partitions */
    halfway = (plan == P -> P : 0);
    release();
#ifndef F_HALF
    if
    :: plan != P ->
        send(RETIRE, 0, 0, P, 0);
        if
        :: result == LOST -> halfway = P
        :: else
        fi
    :: else
    fi;
#endif
    finish(UNKNOWN);
expire_done:
#ifndef F_EXPIRE
    release();
#endif
    finish(SUCCESS);

ended:
    leave(c, outcome_is, op, is_gone + 2 * left + 4 * halfway)
}


/* ---- one adder, one reader ---- */


proctype adder() {
    byte g, n, last, rounds, result, p;
    bit unconfirmed;
again:
    atomic { rounds++; if :: rounds > 2 -> goto ended :: else fi };
    atomic {
        g = plan;
        if
        :: g == 0 -> goto ended
        :: else
        fi
    };
#ifdef F_CREATE /* each process that opens an unfinished filter finishes it */
    if
    :: state != g -> send(MAKE, 1, 0, g, 1); send(SET_STATE, 0, 0, g, 0)
    :: else
    fi;
#endif
    send(ADD, 0, 0, g, 0);
    if
    :: result == LOST -> goto ended
    :: else
    fi;
    if
    :: foot[g] != SEALED && plan == g -> goto ended /* damaged: an error */
    :: else
    fi;
    atomic {
        p = plan; n = next;
        if
        :: p == g && n == 0 -> must = must | (KEY & ~key_lost); goto ended
        :: else
        fi
    };
    do
#ifndef F_GRACE
    :: atomic { p != g && foot[g] == SEALED } -> goto again /* this add did not create the string: it may be all that is left */
    :: p != g && foot[g] != SEALED -> send(GRACE_BITS, 0, 0, g, 0); goto again
#else
    :: p != g -> send(GRACE_BITS, 0, 0, g, 0); goto again
#endif
    :: p == g ->
        send(ADD, 0, 0, n, 0); /* being resized: add there too */
        if
        :: result == LOST -> goto ended
        :: else
        fi;
#if RENEWS
        send(RENEW_NEXT, 0, 0, n, 0);
        if
        :: result == LOST -> goto ended
        :: else
        fi;
#endif
        atomic {
            p = plan; last = n; n = next;
            if
            :: p == g && (n == last || n == 0) -> must = must | (KEY & ~key_lost)
            :: else
            fi
        };
        if
        :: n == last || p == last
        :: else -> send(GRACE_BITS, 0, 0, last, 0) /* no command makes that generation any more */
        fi;
        if
        :: p == g && (n == last || n == 0) -> goto ended
        :: else
        fi
    od;
ended:
    leave(4, 0, 0, 0)
}

/* A batch: open, blocks, footer, plan. It must find the keys that were acknowledged before it began. */
proctype reader() {
    byte g, need, b, f;
    atomic { g = plan; need = must };
    atomic { b = bits[g] };
    atomic { f = foot[g] };
    atomic {
        HOLDS(I1_acknowledged_key_reads_absent, g == 0 || plan != g || f != SEALED || (need & ~b & ~key_lost) == 0);
        g = 0; need = 0; b = 0; f = 0
    };
    leave(4, 0, 0, 0)
}

/* ---- faults of the servers ---- */

proctype lock_expires() {
end: do
    :: atomic { lock != 0 && alive > 0 -> lock = 0; printf("the lock expires\n") }
    od
}

inline vanish(g) {
    foot[g] != MISSING -> printf("the string of generation %d vanishes\n", g); evicted = evicted | (1 << g);
    foot[g] = MISSING; bits[g] = 0; ttl[g] = STAYS; stamp[g] = 0
}

proctype eviction() {
    byte times = EVICT;
end: do
    :: atomic { times > 0 && alive > 0 -> times--;
        if
        :: vanish(1)
        :: vanish(2)
        :: vanish(3)
        :: vanish(4)
        :: vanish(5)
        fi }
    od
}

proctype hash_eviction() {
end: do
    :: atomic { !hash_evicted && alive > 0 && plan != 0 -> printf("the hash vanishes\n"); hash_evicted = 1;
                plan = 0; next = 0; pushing = 0; before = 0; hash_ttl = 0;
#if EVICT_HASH == 2
                copy = 0; copy_ttl = 0
#endif
        }
    od
}

/* The hash and the copy reach their expiry, which is one instant. */
proctype hash_expiry() {
end: do
    :: atomic { hash_ttl && plan != 0 -> printf("the filter expires\n");
                plan = 0; next = 0; pushing = 0; before = 0; hash_ttl = 0; must = 0; wants_ttl = 0;
                if
                :: copy_ttl -> copy = 0; copy_ttl = 0
                :: else
                fi;
                HOLDS(I3_copy_outlives_the_hash, copy == 0) }
    od
}

#if FAILOVER == 1
proctype failover() {
    byte l, p, n, ns, u, b, k, m;
    bit ht, ct, w;
    d_step { l = lock; p = plan; n = next; ns = next_send; u = pushing; b = before; k = copy; m = must; ht = hash_ttl; ct = copy_ttl; w = wants_ttl };
    d_step { printf("the control slot fails over\n"); failed_over = 1;
        must = m; /* a lost plan loses its adds too */
        lock = l; plan = p; next = n; next_send = ns; pushing = u; before = b; copy = k; hash_ttl = ht; copy_ttl = ct; wants_ttl = w;
        check_state() };
    leave(4, 0, 0, 0)
}
#endif

#if FAILOVER == 2
proctype failover() {
    byte g, f, b, t, s;
    if
    :: g = 1
    :: g = 2
    :: g = 4
    fi;
    d_step { f = foot[g]; b = bits[g]; t = ttl[g]; s = stamp[g] };
    d_step { printf("the server of generation %d fails over\n", g); failed_over = 1;
        if /* what a failover may lose, by REDIS-LAYOUT.md */
        :: (bits[g] & ~b) & KEY -> key_lost = KEY; must = must & ~KEY
        :: else
        fi;
        foot[g] = f; bits[g] = b; ttl[g] = t; stamp[g] = s;
        check_state() };
    leave(4, 0, 0, 0)
}
#endif

init {
    atomic {
        if
        :: !EMPTY -> plan = 1; copy = 1; foot[1] = SEALED; bits[1] = BASE; must = BASE;
            hash_ttl = TTL; copy_ttl = TTL; ttl[1] = TTL; wants_ttl = TTL
#ifdef F_CREATE
            ; state = 1
#endif
        :: else
        fi;
        outcome[0] = (A1 -> RUNNING : IDLE); outcome[1] = (A2 -> RUNNING : IDLE);
        outcome[2] = (B1 -> RUNNING : IDLE); outcome[3] = (B2 -> RUNNING : IDLE);
        alive = (A1 != 0) + (A2 != 0) + (B1 != 0) + (B2 != 0) + ADDS + READS + (FAILOVER != 0);
        run servers();
#if LOCK_ENDS
        run lock_expires();
#endif
#if EVICT
        run eviction();
#endif
#if EVICT_HASH
        run hash_eviction();
#endif
#if EXPIRES
        run hash_expiry();
#endif
#if FAILOVER
        run failover();
#endif
#if A1
        run command(A1, 0, 4);
#endif
#if A2
        run command(A2, 1, 0);
#endif
#if B1
        run command(B1, 2, 4);
#endif
#if B2
        run command(B2, 3, 2);
#endif
#if ADDS
        run adder();
#endif
#if READS
        run reader();
#endif
    }
}
